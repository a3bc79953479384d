"""`TheoryVerdict`: a theory's prediction for a run, the measurement, and whether the two agree."""

from typing import Annotated, Literal

from pydantic import Field

from firstlight.records._base import Frozen

Agreement = Literal["yes", "no", "does not apply"]
"""Whether prediction and measurement agree; `does not apply` if the theory predicts nothing about the run."""


class TheoryVerdict(Frozen):
    """One row of a run's scoreboard: theory, predicted, measured, agrees.

    **Arguments:**

    - `theory`: the name of the lens, such as `li2`.
    - `predicted`: the prediction in a few words, with its number and unit; '' if the theory predicts nothing here.
    - `measured`: the same quantity, measured on the run; '' if it was not measured.
    - `agrees`: `yes`, `no`, or `does not apply`.
    - `sentence`: the verdict for a reader who has not read the paper, without symbols.
    - `look_at`: the title of the figure that shows the comparison, or ''.

    >>> verdict = TheoryVerdict(
    ...     theory="li2", predicted="generalises near epoch 120", measured="epoch 140", agrees="yes",
    ...     sentence="The network generalised within the predicted range of epochs.",
    ... )
    >>> verdict.agrees
    'yes'
    """

    theory: Annotated[str, Field(min_length=1)]
    predicted: str = ""
    measured: str = ""
    agrees: Agreement
    sentence: Annotated[str, Field(min_length=1)]
    look_at: str = ""
