"""Calibration by labels of the same study, alone or partially pooled."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from orbench_inspect.analysis.calibration.record import Calibration, convert, stream
from orbench_inspect.analysis.correction import ANSWERED, REFUSED
from orbench_inspect.analysis.drawing import FEWEST
from orbench_inspect.analysis.hand_labels import HandLabels
from orbench_inspect.analysis.labelled_share import LabelledShare, partially_pooled
from orbench_inspect.analysis.rates import category_sizes


def from_labels(
    labels: HandLabels, runs: pd.DataFrame, samples: pd.DataFrame, how: str
) -> Calibration:
    """Calibrate by labels of the same study.

    A judge's error differs by model, mitigation and side.

    Args:
        labels: From `join_labels`.
        runs: The runs to correct, named by `arms_of`.
        samples: Their samples.
        how: `cells`, each run by its own labels; or `partial`, the runs of one side partially
            pooled, so that a run with few labels borrows from the others.

    Raises:
        ValueError: If not one run has labels enough.
    """
    cells = [
        _cell(labels.rows, run, samples, verdict)
        for _, run in runs.iterrows()
        for verdict in _SIDES
    ]
    scored = {cell.run for cell in cells if cell.size}
    # Of a run without a verdict the prior alone would make a rate.
    nothing = {cell.name for cell in cells if cell.run not in scored}
    cells = [cell for cell in cells if cell.run in scored]
    drawn = _each_alone(cells) if how == "cells" else _pooled(cells)
    notes = [*labels.notes]
    notes += [f"{name}: not corrected; the judge gave no verdict" for name in sorted(nothing)]
    notes += [_lack(cell) for cell in cells if (cell.run, cell.verdict) not in drawn]
    converts = {
        run: convert({verdict: drawn[run, verdict] for verdict in _SIDES})
        for run in runs["run"]
        if all((run, verdict) in drawn for verdict in _SIDES)
    }
    if not converts:
        raise ValueError("too few labels to correct by:\n  " + "\n  ".join(notes))
    used = labels.rows[labels.rows["run"].isin(runs["run"])].groupby("run").size()
    told = {
        "cells": "labels of each arm and set by itself",
        "partial": "labels of the arms of one side, partially pooled",
    }[how]
    return Calibration(told, converts, {int(r): int(n) for r, n in used.items()}, notes)


@dataclass(frozen=True)
class _Cell:
    run: int
    verdict: str
    side: str
    name: str
    size: int
    share: LabelledShare

    @property
    def labels(self) -> int:
        return len(self.share.prompts)


_SIDES = (REFUSED, ANSWERED)


def _cell(
    labels: pd.DataFrame, run: "pd.Series[Any]", samples: pd.DataFrame, verdict: str
) -> _Cell:
    value = 1.0 if verdict == REFUSED else 0.0
    of_run = samples[(samples["run"] == run["run"]) & (samples["model_only"] == value)]
    rows = labels[(labels["run"] == run["run"]) & (labels["deployed"] == value)]
    weights = rows["weight"].to_numpy(dtype=float)
    if (sizes := category_sizes(run)) is not None:
        # Equal numbers of each category were asked: a label stands for as many as its category.
        asked = samples[samples["run"] == run["run"]]["category"].value_counts()
        weights = weights * rows["category"].map(lambda c: sizes[c] / asked[c]).to_numpy(float)
    # As many labels of equal weight as would tell as much (Kish).
    counts = weights * (weights.sum() / (weights**2).sum()) if len(rows) else weights
    human = rows["human"].to_numpy(dtype=float)
    return _Cell(
        run=int(run["run"]),
        verdict=verdict,
        side=str(run["wanted"]),
        name=f"{run['group']} · {run['arm']}, {run['prompt_set']}",
        size=len(of_run),
        share=LabelledShare(
            tuple(rows["prompt_id"]),
            counts * human,
            counts * (1 - human),
            stream(run["run"], _SIDES.index(verdict)),
        ),
    )


def _missing(cell: _Cell) -> int:
    return max(0, min(FEWEST, cell.size) - cell.labels)


def _lack(cell: _Cell) -> str:
    return (
        f"{cell.name}: not corrected; {_missing(cell)} more labels needed of responses the judge "
        f"calls {cell.verdict} ({cell.labels} of at least {min(FEWEST, cell.size)})"
    )


def _each_alone(cells: Sequence[_Cell]) -> dict[tuple[int, str], LabelledShare]:
    return {(cell.run, cell.verdict): cell.share for cell in cells if not _missing(cell)}


def _pooled(cells: Sequence[_Cell]) -> dict[tuple[int, str], LabelledShare]:
    drawn: dict[tuple[int, str], LabelledShare] = {}
    for number, alike in enumerate(_alike(cells)):
        if sum(cell.labels for cell in alike) < min(FEWEST, sum(cell.size for cell in alike)):
            continue
        shares = partially_pooled([cell.share for cell in alike], 2_000_000 + number)
        drawn |= {(c.run, c.verdict): share for c, share in zip(alike, shares, strict=True)}
    return drawn


def _alike(cells: Sequence[_Cell]) -> Iterator[list[_Cell]]:
    for side in ("answer", "refuse"):
        for verdict in _SIDES:
            yield [cell for cell in cells if (cell.side, cell.verdict) == (side, verdict)]
