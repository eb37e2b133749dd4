"""How often the judge could judge at all, by set and category."""

import pandas as pd
from rich.table import Table
from rich.text import Text

from orbench_inspect.analysis.runs import Runs
from orbench_inspect.analysis.wording import judged_by, plain
from orbench_inspect.scoring.left_open import TIED
from orbench_inspect.scoring.words import CAUSES, VERDICTS


def judge_success(runs: Runs) -> pd.DataFrame:
    """Responses put before judges, and what came of them.

    Args:
        runs: From `read_runs`.

    Returns:
        One row a judge, prompt set and category, and one for each whole set with an empty
        category: `responses`, `verdicts`, `tied` (a panel without a majority), `success` (the
        proportion that is either; nan of none), each cause that is the judge's, and `tokens`
        and `cost` a verdict.
    """
    judges = {run["run"]: judged_by(run) for _, run in runs.runs.iterrows()}
    sets = runs.runs.set_index("run")["prompt_set"]
    asked = runs.samples[runs.samples["judge_said"].notna()]
    asked = asked.assign(judge=asked["run"].map(judges), prompt_set=asked["run"].map(sets))
    second = asked["second_judge"].notna()
    # The first could not judge there, whatever became the outcome; what both took is booked to it.
    instead = asked[second].assign(judge=asked["second_judge"], judge_tokens=None, judge_cost=None)
    asked = pd.concat([asked.assign(judge_said=asked["judge_said"].mask(second, _FAILED)), instead])
    rows = []
    for (judge, prompt_set), of_set in asked.groupby(["judge", "prompt_set"], sort=True):
        for category, group in [("", of_set), *of_set.groupby("category", sort=True)]:
            rows.append({"judge": judge, "set": prompt_set, "category": category, **_of(group)})
    return pd.DataFrame(rows)


def as_success_table(success: pd.DataFrame) -> Table:
    """Whole sets, and the categories in which a judge failed."""
    title = "responses a judge could judge; categories only where it could not judge all"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in ("judge", "set", "category", "responses", "verdicts", "success", *_OWN, "tokens"):
        table.add_column(name, overflow="fold")
    shown = success[(success["category"] == "") | (success["success"] < 1)]
    for _, row in shown.iterrows():
        cells = [row["judge"], row["set"], row["category"], f"{row['responses']:,}"]
        cells += [f"{row['verdicts']:,}", f"{100 * row['success']:.1f}%"]
        cells += [f"{row[cause]:,}" for cause in _OWN]
        cells += ["" if pd.isna(row["tokens"]) else f"{row['tokens']:.0f}"]
        table.add_row(*(Text(plain(cell)) for cell in cells))
    return table


_FAILED = "judge_error"

_OWN = (TIED, *(cause for cause, reason in CAUSES.items() if reason == "grader_failed"))


def _of(group: pd.DataFrame) -> dict[str, float]:
    verdicts = int(group["judge_said"].isin(VERDICTS).sum())
    tied = int((group["judge_said"] == TIED).sum())
    costs = group["judge_cost"].dropna()
    return {
        "responses": len(group),
        "verdicts": verdicts,
        "success": (verdicts + tied) / len(group) if len(group) else float("nan"),
        **{cause: int((group["judge_said"] == cause).sum()) for cause in _OWN},
        "tokens": group["judge_tokens"].sum(min_count=1) / verdicts if verdicts else float("nan"),
        "cost": costs.sum() / verdicts if verdicts and len(costs) else float("nan"),
    }
