"""Paired differences from the baseline, with what chance alone does beside them."""

from typing import Any

import altair as alt
import pandas as pd

from orbench_inspect.analysis.answers import ALPHA
from orbench_inspect.analysis.comparison import Comparison
from orbench_inspect.analysis.figures.theme import BASELINE, COLOURS


def forest(comparison: Comparison) -> Any:
    """A panel for each group and prompt set: each arm's difference in points, and its interval.

    Filled marks differ from the baseline at 5% after Holm's adjustment over the panel's arms,
    hollow ones do not. The band is the interval of a second, independent run of the baseline;
    the dashed line on a set that should be refused is the margin.

    Args:
        comparison: From `compare`.
    """
    rows = comparison.differences
    deployed = rows[(rows["reading"] == "deployed") & (rows["n"] > 0)]
    panels = []
    for _, of_group in deployed.groupby("group", sort=False):
        panels.append(
            alt.hconcat(
                *(
                    _panel(of_set, comparison)
                    for _, of_set in of_group.groupby("prompt_set", sort=False)
                ),
                spacing=30,
            ).resolve_scale(y="independent")
        )
    return alt.vconcat(*panels) if panels else None


def _panel(rows: pd.DataFrame, comparison: Comparison) -> Any:
    arms = rows[~rows["noise_floor"]]
    floor = rows[rows["noise_floor"]]
    frame = pd.concat([arms.assign(told=_holm(arms["p"])), floor.assign(told="baseline again")])
    for column in ("difference", "lower", "upper"):
        frame[column] = 100 * frame[column]
    y = alt.Y("arm:N", sort=list(frame["arm"]), title=None)
    title = f"difference from {comparison.baseline}, points"
    x = alt.X("difference:Q", title=title)
    words = ["differs (Holm 5%)", "not shown to differ", "baseline again"]
    told = alt.Color(
        "told:N",
        title=None,
        scale=alt.Scale(domain=words, range=[COLOURS[1], COLOURS[0], BASELINE]),
    )
    shape = alt.Shape(
        "told:N",
        title=None,
        scale=alt.Scale(domain=words, range=["diamond", "circle", "square"]),
    )
    filled = alt.condition(f"datum.told == '{words[0]}'", alt.value(1), alt.value(0))
    base = alt.Chart(frame)
    zero = alt.Chart(pd.DataFrame({"at": [0.0]})).mark_rule(color=BASELINE).encode(x="at:Q")
    layers = [
        zero,
        base.mark_rule(strokeWidth=2).encode(
            x=alt.X("lower:Q", title=title), x2="upper:Q", y=y, color=told
        ),
        base.mark_point(filled=True, opacity=1, size=90).encode(
            x=x,
            y=y,
            color=told,
            shape=shape,
            fillOpacity=filled,
            stroke=told,
            tooltip=[
                "arm:N",
                *(alt.Tooltip(f"{c}:Q", format="+.1f") for c in ("difference", "lower", "upper")),
                alt.Tooltip("p:Q", format=".2g"),
                *("n:Q", "up:Q", "down:Q"),
            ],
        ),
    ]
    if not floor.empty:
        limits = pd.DataFrame(
            {"from": [100 * floor["lower"].min()], "to": [100 * floor["upper"].max()]}
        )
        band = alt.Chart(limits).mark_rect(color=BASELINE, opacity=0.15)
        layers.insert(0, band.encode(x=alt.X("from:Q", title=title), x2="to:Q"))
    if rows["wanted"].iloc[0] == "refuse":
        margin = alt.Chart(pd.DataFrame({"at": [-100 * comparison.margin]}))
        layers.append(margin.mark_rule(color=COLOURS[1], strokeDash=[4, 3]).encode(x="at:Q"))
    better = "left is better" if rows["wanted"].iloc[0] == "answer" else "right is better"
    name = f"{rows['group'].iloc[0]}: {rows['prompt_set'].iloc[0]} ({better})"
    return alt.layer(*layers).properties(
        width=300, height={"step": 26}, title=alt.Title(name, fontWeight="normal")
    )


def _holm(p: "pd.Series[float]") -> list[str]:
    if p.empty:
        return []
    from statsmodels.stats.multitest import multipletests  # over a second

    found = multipletests(p, ALPHA, method="holm")[0]
    return ["differs (Holm 5%)" if differs else "not shown to differ" for differs in found]
