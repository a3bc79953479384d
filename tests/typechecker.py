"""The type checker of the tests: beartype, in which `float` admits an `int` as PEP 484 says."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
