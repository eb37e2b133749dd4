"""The calibration that a command line asks for."""

import functools
from collections.abc import Sequence
from typing import cast

from orbench_inspect.analysis.calibration.labels import from_labels
from orbench_inspect.analysis.calibration.record import Calibrate
from orbench_inspect.analysis.calibration.validation import from_validation
from orbench_inspect.analysis.hand_labels import join_labels
from orbench_inspect.analysis.judges import read_validations
from orbench_inspect.analysis.runs import Runs
from orbench_inspect.scoring.labels import Partial


def calibrated_by(
    runs: Runs,
    labels: Sequence[str] = (),
    how: str | None = None,
    partial: str | None = None,
    external: str | None = None,
) -> Calibrate | None:
    """What corrects for the judge's error, as the command line asks for it; None if nothing.

    Args:
        runs: From `read_runs`.
        labels: Sheets of `orbench draw`, filled in.
        how: `cells` or `partial`, with labels.
        partial: What a label of partial refusal counts as, with labels.
        external: Log or directory of a validation on other responses.

    Raises:
        ValueError: If the options do not go together, or a sheet or log cannot be used.
    """
    if labels and external:
        raise ValueError(
            "--labels and --external exclude each other: labels of the study are better"
        )
    if not labels and (how or partial):
        raise ValueError("--calibrate and --partial go with --labels SHEET")
    if labels:
        joined = join_labels(labels, runs, cast(Partial, partial or "refused"))
        return functools.partial(from_labels, joined, how=how or "cells")
    if external:
        notes: list[str] = []
        judged = read_validations([external], notes)
        return functools.partial(from_validation, judged, notes)
    return None
