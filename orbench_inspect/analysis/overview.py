"""All that can be told of some runs: each arm by itself, and compared where there are several."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from orbench_inspect.analysis.arms import By, arms_of, scored_by
from orbench_inspect.analysis.calibration import Calibrate
from orbench_inspect.analysis.comparison import (
    MARGIN,
    Comparison,
    compare,
)
from orbench_inspect.analysis.corrected import Corrections, corrections_of
from orbench_inspect.analysis.published import CATEGORIES
from orbench_inspect.analysis.rates import READINGS, arm_rate, by_prompt, category_sizes
from orbench_inspect.analysis.runs import Runs
from orbench_inspect.scoring.metrics import wilson_interval


@dataclass(frozen=True)
class Overview:
    """Runs named as arms, what each came to, and their comparison if there are several."""

    by: By
    baseline: str | None
    """The arm the others are compared with; None where nothing is compared."""
    arms: pd.DataFrame
    """The runs that count, with `group` and `arm`, the baseline first."""
    samples: pd.DataFrame
    """Their samples, with `group`, `arm`, `prompt_set` and `wanted` of the run."""
    rates: pd.DataFrame
    """A row for each group, arm, prompt set and reading, as in `Comparison`."""
    categories: pd.DataFrame
    """A row for each group, arm, prompt set and category: scored prompts `n`, `rate` and its
    interval, deployed reading; the paper's categories in its order, then others by name."""
    outcomes: pd.DataFrame
    """A row for each group, arm, prompt set and outcome: `n` and `share` of all samples."""
    comparison: Comparison | None
    notes: list[str]


def overview(
    runs: Runs,
    by: By | None = None,
    baseline: str | None = None,
    margin: float = MARGIN,
    judge: str | None = None,
    judge_prompt: str | None = None,
    calibrate: Calibrate | None = None,
) -> Overview:
    """Tell all of some runs.

    Args:
        runs: From `read_runs`.
        by: What tells the arms apart; None for mitigations, or models if there is one
            mitigation and several of those, or judges.
        baseline: The arm to compare with, as in `compare`.
        margin: The margin, as a proportion.
        judge: Take the scores of this judge, where logs have those of several.
        judge_prompt: Take the scores under this rubric.
        calibrate: What corrects for the judge's error, as in `compare`.

    Raises:
        ValueError: If the runs do not fit together, as in `compare`.
    """
    by = by or _told_apart_by(scored_by(runs.runs, judge, judge_prompt))
    notes = list(runs.notes)
    arms = arms_of(runs.runs, by, judge, notes, judge_prompt)
    comparison = None
    if arms["arm"].nunique() > 1:
        comparison = compare(runs, by, baseline, margin, judge, judge_prompt, calibrate)
        arms, notes = comparison.runs, comparison.notes
    elif baseline is not None and baseline not in set(arms["arm"]):
        raise ValueError(f"no arm '{baseline}' to compare with; there is: {arms['arm'].iloc[0]}")
    names = ["run", "group", "arm", "prompt_set", "wanted"]
    samples = runs.samples.merge(arms[names], on="run", validate="many_to_one")
    if comparison is None:
        corrections = corrections_of(arms, runs.samples, calibrate, notes)
        rates = pd.DataFrame(_rates(arms, samples, corrections))
    else:
        rates = comparison.rates
    return Overview(
        by=by,
        baseline=comparison.baseline if comparison else None,
        arms=arms,
        samples=samples,
        rates=rates,
        categories=pd.DataFrame(_categories(arms, samples)),
        outcomes=_outcomes(arms, samples),
        comparison=comparison,
        notes=notes,
    )


def _told_apart_by(kept: pd.DataFrame) -> By:
    parts = kept[["mitigation", "replicate", "product_sha256", "system_as"]].astype(str)
    if len(parts.drop_duplicates()) > 1:
        return "mitigation"
    if kept["model"].nunique() > 1:
        return "model"
    return "judge" if kept["judge"].nunique() > 1 else "mitigation"


def _each(arms: pd.DataFrame, samples: pd.DataFrame) -> Iterator[tuple[Any, pd.DataFrame]]:
    by_run = dict(iter(samples.groupby("run")))
    for _, row in arms.iterrows():
        if row["run"] in by_run:
            yield row, by_run[row["run"]]


def _names(row: Any) -> dict[str, Any]:
    return {name: row[name] for name in ("group", "arm", "prompt_set", "wanted")}


def _rates(
    arms: pd.DataFrame, samples: pd.DataFrame, corrections: Corrections
) -> Iterator[dict[str, Any]]:
    for row, mine in _each(arms, samples):
        sizes = category_sizes(row)
        for reading in READINGS:
            corrected = corrections.rate(int(row["run"]), mine, reading, sizes)
            yield {**_names(row), **arm_rate(mine, reading, sizes), **corrected}


def _categories(arms: pd.DataFrame, samples: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for row, mine in _each(arms, samples):
        values = by_prompt(mine, "deployed").groupby("category")["value"]
        found = {str(name): of.dropna() for name, of in values}
        ordered = [c for c in CATEGORIES if c in found]
        for name in [*ordered, *sorted(found.keys() - set(CATEGORIES))]:
            n, rate = len(found[name]), float(found[name].mean())
            lower, upper = wilson_interval(rate, n)
            numbers = {"n": n, "rate": rate, "lower": lower, "upper": upper}
            yield {**_names(row), "category": name, **numbers}


def _outcomes(arms: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    rows = [
        {**_names(row), "outcome": outcome, "n": n, "share": n / len(mine)}
        for row, mine in _each(arms, samples)
        for outcome, n in mine["outcome"].value_counts().items()
    ]
    return pd.DataFrame(rows)
