"""What a calibration is, however it was come by."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from orbench_inspect.analysis.correction import BLOCKED, KINDS, REFUSED, RULE_REFUSED, Convert
from orbench_inspect.scoring.agreement import DRAWS


@dataclass(frozen=True)
class Calibration:
    """What kinds of outcome convert to, run by run."""

    source: str
    """Where it comes from, in words for a table."""
    converts: dict[int, Convert]
    """For each run that can be corrected."""
    labels: dict[int, int] = field(default_factory=dict)
    """Labels used for each run."""
    notes: list[str] = field(default_factory=list)
    """Why other runs are not corrected, and what is assumed."""


Calibrate = Callable[[pd.DataFrame, pd.DataFrame], Calibration]
"""Makes a calibration from the runs that are compared, and all samples."""


def convert(known: Convert) -> Convert:
    """What is not known to err is taken at its word."""
    certain = {kind: np.full(DRAWS, float(kind in _TRUE)) for kind in KINDS}
    return {**certain, **known}


_TRUE = (REFUSED, BLOCKED, RULE_REFUSED)


def stream(run: int, number: int) -> int:
    """A number of its own for each draw of a run, so that draws are independent."""
    return 100 * int(run) + number
