"""Corrected rates and differences as columns beside the raw ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from orbench_inspect.analysis import correction
from orbench_inspect.analysis.calibration import Calibrate, Calibration, from_audit
from orbench_inspect.analysis.paired import Floats
from orbench_inspect.analysis.rates import prompt_weights

Sizes = Mapping[str, float] | None


@dataclass(frozen=True)
class Corrections:
    """What rates and differences of a comparison are corrected by."""

    labels: Calibration | None = None
    """Labels or a validation: their results stand beside the raw ones, as `corrected`."""
    audit: Calibration | None = None
    """A cascade's audit: the rate and its interval are those the judge would have given."""

    def rate(self, run: int, samples: pd.DataFrame, reading: str, sizes: Sizes) -> dict[str, Any]:
        """Columns of one run's rate."""
        told: dict[str, Any] = {}
        if self.audit is not None and run in self.audit.converts:
            found = _rate(samples, reading, sizes, self.audit.converts[run], rules_apart=True)
            lower, upper = found.limits
            told |= {"rate": found.estimate, "lower": lower, "upper": upper}
        if self.labels is not None:
            convert = self.labels.converts.get(run)
            result = None if convert is None else _rate(samples, reading, sizes, convert)
            told |= _columns(result) | {"labels": self.labels.labels.get(run, 0)}
        return told

    def difference(
        self,
        runs: tuple[int, int],
        samples: tuple[pd.DataFrame, pd.DataFrame],
        reading: str,
        sizes: Sizes,
        margin: float,
    ) -> dict[str, Any]:
        """Columns of the difference between two runs, arm and baseline."""
        told: dict[str, Any] = {}
        audited = _converts(self.audit, runs)
        if audited is not None:
            found = _difference(samples, reading, sizes, audited, rules_apart=True)
            if found is not None:
                told |= _tested(found, margin)
        if self.labels is not None:
            converts = _converts(self.labels, runs)
            result = converts and _difference(samples, reading, sizes, converts)
            told |= _columns(result or None)
        return told


def corrections_of(
    runs: pd.DataFrame, samples: pd.DataFrame, calibrate: Calibrate | None, notes: list[str]
) -> Corrections:
    """What the rates of some runs are corrected by.

    Args:
        runs: The runs, named by `arms_of`.
        samples: All samples.
        calibrate: Makes the calibration that was asked for; None if none was.
        notes: What a reader must know is added here.
    """
    labels = calibrate(runs, samples) if calibrate else None
    audit = from_audit(runs, samples) if (runs["scorer"] == "cascade").any() else None
    for calibration in (labels, audit):
        notes += calibration.notes if calibration else []
    return Corrections(labels, audit)


def _columns(found: correction.Corrected | None) -> dict[str, float]:
    lower, upper = found.limits if found else (np.nan, np.nan)
    estimate = found.estimate if found else np.nan
    return {"corrected": estimate, "corrected_lower": lower, "corrected_upper": upper}


def _tested(found: correction.Corrected, margin: float) -> dict[str, Any]:
    """Difference, interval and p's by the draws: half a draw more, so that none is 0."""
    draws = found.draws

    def share(hits: "np.ndarray[Any, np.dtype[np.bool_]]") -> float:
        return (float(hits.sum()) + 0.5) / (len(draws) + 1)

    lower, upper = found.limits
    more, fewer = share(draws >= 0), share(draws <= 0)
    return {
        "difference": found.estimate,
        "lower": lower,
        "upper": upper,
        "p": min(1.0, 2 * min(more, fewer)),
        "p_fewer": more,
        "p_not_worse": share(draws <= -margin),
        "method": "posterior draws over the pairs and the cascade's audit",
    }


def _converts(
    calibration: Calibration | None, runs: tuple[int, int]
) -> tuple[correction.Convert, correction.Convert] | None:
    if calibration is None or any(run not in calibration.converts for run in runs):
        return None
    return calibration.converts[runs[0]], calibration.converts[runs[1]]


def _rate(
    samples: pd.DataFrame,
    reading: str,
    sizes: Sizes,
    convert: correction.Convert,
    rules_apart: bool = False,
) -> correction.Corrected:
    shares = correction.kinds_of(samples, reading, rules_apart)
    return correction.rate(shares, _weights(samples, shares, sizes), convert)


def _difference(
    samples: tuple[pd.DataFrame, pd.DataFrame],
    reading: str,
    sizes: Sizes,
    converts: tuple[correction.Convert, correction.Convert],
    rules_apart: bool = False,
) -> correction.Corrected | None:
    arm, baseline = (correction.kinds_of(s, reading, rules_apart) for s in samples)
    both = arm.index.intersection(baseline.index)
    if both.empty:
        return None
    weights = _weights(samples[0], arm.loc[both], sizes)
    return correction.difference(arm.loc[both], baseline.loc[both], weights, converts)


def _weights(samples: pd.DataFrame, shares: pd.DataFrame, sizes: Sizes) -> Floats:
    if sizes is None:
        return np.ones(len(shares))
    category = samples.groupby("id")["category"].first().reindex(shares.index)
    return np.asarray(prompt_weights(category, sizes), dtype=float)
