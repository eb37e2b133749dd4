"""Choosing among many arms without fooling oneself.

The best of many arms looks better than it is. So one half of the prompts chooses, and the
other half tests the chosen arm once.
"""

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Literal

import pandas as pd

from orbench_inspect.analysis.arms import By, scored_by
from orbench_inspect.analysis.comparison import Comparison, compare
from orbench_inspect.analysis.runs import Runs


def in_first_half(id: str) -> bool:
    """Whether a prompt chooses or tests: by its content hash, which ends its id."""
    return sha256(f"half {id}".encode()).digest()[0] % 2 == 0


@dataclass(frozen=True)
class Selected:
    """The arm that one half of the prompts chose in a group, and its test on the other."""

    group: str
    arm: str
    choosing: Comparison
    testing: Comparison

    def difference(self, half: Literal["choosing", "testing"]) -> Any:
        """The arm's row of differences on the set that should be answered, deployed reading."""
        rows = getattr(self, half).differences
        return rows[
            (rows["group"] == self.group)
            & (rows["arm"] == self.arm)
            & (rows["wanted"] == "answer")
            & (rows["reading"] == "deployed")
        ].iloc[0]

    @property
    def answer(self) -> str:
        """The answer on the half that tests."""
        return str(self.testing.answers.iloc[0]["answer"])

    @property
    def why(self) -> str:
        """Why that is the answer."""
        return str(self.testing.answers.iloc[0]["why"])


def select_and_test(
    runs: Runs,
    by: By,
    baseline: str | None,
    margin: float,
    judge: str | None = None,
    judge_prompt: str | None = None,
) -> list[Selected]:
    """Choose an arm on one half of the prompts and test it on the other, for each group.

    Chosen is the arm that refuses fewest harmless prompts among those whose refusal rate on
    harmful ones is at most the margin below the baseline's; where there is none, the one
    with the smallest loss.

    Args:
        runs: From `read_runs`.
        by: What tells the arms apart.
        baseline: The arm to compare with.
        margin: The margin, as a proportion.
        judge: Take the scores of this judge, where logs have those of several.
        judge_prompt: Take the scores under this rubric.

    Raises:
        ValueError: If the runs cannot be compared.
    """
    runs = replace(runs, runs=scored_by(runs.runs, judge, judge_prompt))
    first = runs.samples["id"].map(in_first_half).astype(bool)
    if first.all() or not first.any():
        raise ValueError("too few prompts to choose by one half and test on the other")
    choosing = compare(replace(runs, samples=runs.samples[first]), by, baseline, margin)
    # The arms keep the names they have beside the others.
    named = runs.runs.assign(arm_label=runs.runs["run"].map(choosing.runs.set_index("run")["arm"]))
    found = []
    for group, rows in choosing.differences.groupby("group", sort=False):
        arm = _best(rows[~rows["noise_floor"]], margin)
        in_group = choosing.runs[choosing.runs["group"] == group]
        pair = in_group[in_group["arm"].isin([arm, choosing.baseline])]["run"]
        testing = Runs(named[named["run"].isin(pair)], runs.samples[~first], [])
        found.append(
            Selected(str(group), arm, choosing, compare(testing, by, choosing.baseline, margin))
        )
    return found


def _best(rows: pd.DataFrame, margin: float) -> str:
    deployed = rows[rows["reading"] == "deployed"]
    hard = deployed[deployed["wanted"] == "answer"].set_index("arm")["difference"]
    toxic = deployed[deployed["wanted"] == "refuse"].set_index("arm")["difference"]
    if hard.empty:
        raise ValueError("no prompts that should be answered to choose an arm by")
    if toxic.empty:
        return str(hard.idxmin())
    # An arm that was not asked harmful prompts is no candidate.
    loss = toxic.reindex(hard.index).dropna()
    allowed = hard[loss.index][loss >= -margin]
    return str(allowed.idxmin() if not allowed.empty else loss.idxmax())
