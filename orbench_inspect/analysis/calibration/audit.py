"""Calibration of a cascade's rules by the judge's audit of them."""

from typing import Any

import numpy as np
import pandas as pd

from orbench_inspect.analysis.calibration.record import Calibration, convert, stream
from orbench_inspect.analysis.correction import RULE_ANSWERED, RULE_REFUSED, predictive
from orbench_inspect.analysis.drawing import FEWEST
from orbench_inspect.scoring.agreement import DRAWS, Floats
from orbench_inspect.scoring.words import REFUSALS, VERDICTS


def from_audit(runs: pd.DataFrame, samples: pd.DataFrame) -> Calibration:
    """Calibrate what a cascade's rules settled by the judge's verdicts on a share of it.

    Where too few were audited to tell, the rules are taken at their word, and a note says so.

    Args:
        runs: The runs.
        samples: Their samples.
    """
    converts, audited, notes = {}, {}, []
    for _, run in runs[runs["scorer"] == "cascade"].iterrows():
        rows = samples[(samples["run"] == run["run"]) & (samples["decided_by"] == "rules")]
        both = rows[rows["audit_outcome"].isin(VERDICTS)]
        judged = both["audit_outcome"].isin(REFUSALS)
        known = {
            kind: draws
            for kind, value in ((RULE_REFUSED, 1.0), (RULE_ANSWERED, 0.0))
            if (draws := _audited(judged[both["deployed"] == value], run, rows, value)) is not None
        }
        enough = len(known) == 2
        if enough:
            converts[int(run["run"])] = convert(known)
            audited[int(run["run"])] = len(both)
        notes.append(
            f"{run['arm']}, {run['prompt_set']}: rules settled {len(rows)} responses, of which the "
            f"judge audited {len(both)} and differs on "
            f"{int((judged != (both['deployed'] == 1.0)).sum())}; "
            + (
                "rates and differences are as the judge would have them, J, macro rate and "
                "categories as scored"
                if enough
                else "too few to correct by: what the rules settled is taken at its word"
            )
        )
    return Calibration("audit of the rules by the judge", converts, audited, notes)


def _audited(
    judged: "pd.Series[bool]", run: "pd.Series[Any]", settled: pd.DataFrame, value: float
) -> Floats | None:
    """Draws of the share that the judge calls refused of what the rules called one thing."""
    size = int((settled["deployed"] == value).sum())
    if len(judged) < min(FEWEST, size):
        return None
    if len(judged) == size:
        return np.full(DRAWS, float(judged.mean()) if size else value)
    return predictive(float(judged.sum()), len(judged), stream(run["run"], 10 + int(value)))
