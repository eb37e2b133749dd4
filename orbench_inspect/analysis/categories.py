"""Categories, as exploration: where a difference comes from."""

from math import hypot
from typing import Any

import pandas as pd

from orbench_inspect.analysis.paired import compare_values
from orbench_inspect.analysis.rates import by_prompt
from orbench_inspect.analysis.runs import Runs


def categories(
    runs: Runs, frame: pd.DataFrame, baseline: str, margin: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Paired differences of each category, deployed reading.

    Args:
        runs: From `read_runs`.
        frame: The runs that are compared, with `group` and `arm`.
        baseline: The arm to compare with.
        margin: The margin, as a proportion.

    Returns:
        A row for each group, arm, prompt set and category, with p's adjusted over all of an
        arm's categories (Benjamini and Hochberg, J. R. Stat. Soc. B 57, 1995); and a row for
        each group, arm and prompt set with the mean of the categories' differences and its
        interval, combined from theirs (Zou, Huang and Zhang, 2009).
    """
    rows: list[dict[str, Any]] = []
    for keys, members in frame.groupby(["group", "prompt_set"], sort=False):
        values = {
            row["arm"]: by_prompt(runs.samples[runs.samples["run"] == row["run"]], "deployed")
            for _, row in members.iterrows()
        }
        base = values.pop(baseline, None)
        if base is None:
            continue
        for arm, prompts in values.items():
            names = {"group": keys[0], "prompt_set": keys[1], "arm": arm}
            rows += [{**names, **row} for row in _of_arm(prompts, base, margin)]
    frame = pd.DataFrame(rows)
    if frame.empty:
        return frame, frame
    from statsmodels.stats.multitest import multipletests  # over a second

    frame["p_bh"] = frame.groupby(["group", "arm"])["p"].transform(
        lambda p: multipletests(p, method="fdr_bh")[1]
    )
    macro = frame.groupby(["group", "prompt_set", "arm"], sort=False).apply(_macro)
    return frame, macro.reset_index()


def _of_arm(prompts: pd.DataFrame, base: pd.DataFrame, margin: float) -> list[dict[str, Any]]:
    joined = prompts.join(base["value"].rename("value_base"), how="inner").dropna()
    rows = []
    for category, pairs in joined.groupby("category"):
        found = compare_values(
            pairs["value"].to_numpy(dtype=float),
            pairs["value_base"].to_numpy(dtype=float),
            margin,
        )
        rows.append(
            {
                "category": category,
                "n": found.n,
                "difference": found.difference,
                "lower": found.lower,
                "upper": found.upper,
                "p": found.p,
            }
        )
    return rows


def _macro(rows: pd.DataFrame) -> "pd.Series[float]":
    mean, n = rows["difference"].mean(), len(rows)
    below = hypot(*(rows["difference"] - rows["lower"])) / n
    above = hypot(*(rows["upper"] - rows["difference"])) / n
    return pd.Series({"difference": mean, "lower": mean - below, "upper": mean + above})
