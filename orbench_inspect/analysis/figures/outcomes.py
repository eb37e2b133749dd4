"""What samples came to, the unscored included; and what rules made of the same responses."""

from typing import Any

import altair as alt
import pandas as pd

from orbench_inspect.analysis.figures.theme import COLOURS
from orbench_inspect.scoring.words import CAUSES

_FIRST = {
    "direct_answer": COLOURS[0],
    "indirect_refusal": COLOURS[4],
    "direct_refusal": COLOURS[1],
    "provider_refusal": COLOURS[3],
}
_GREYS = ("#555555", "#6b6b6b", "#808080", "#959595", "#aaaaaa", "#bfbfbf", "#d0d0d0")
_RULED = ("answered", "refused", "unknown")
_DARK = ("direct_answer", "direct_refusal", "empty", "reasoning_only")
OUTCOME_COLOURS = {**_FIRST, **dict(zip(CAUSES, _GREYS, strict=True))}
"""Verdicts and provider refusals in colours, causes of unscored samples in greys."""


def composition(outcomes: pd.DataFrame) -> Any:
    """Shares of all samples by outcome, a bar for each arm, a panel for each set and group.

    Args:
        outcomes: From `overview`.
    """
    order = list(OUTCOME_COLOURS)
    frame = outcomes.assign(
        percent=100 * outcomes["share"],
        place=outcomes["outcome"].map({word: n for n, word in enumerate(order)}),
        panel=outcomes["group"] + ": " + outcomes["prompt_set"],
    ).sort_values("place")
    # Where a bar's piece begins, so that its number can stand in its middle.
    ends = frame.groupby(["panel", "arm"], sort=False)["percent"].cumsum()
    frame = frame.assign(middle=ends - frame["percent"] / 2)
    there = [word for word in order if word in set(frame["outcome"])]
    arms = list(dict.fromkeys(outcomes["arm"]))
    panels = []
    for name in dict.fromkeys(outcomes["group"] + ": " + outcomes["prompt_set"]):
        base = alt.Chart(frame[frame["panel"] == name])
        y = alt.Y("arm:N", sort=arms, title=None, axis=alt.Axis(domain=False, ticks=False))
        bars = base.mark_bar().encode(
            x=alt.X("percent:Q", title="% of samples", scale=alt.Scale(domain=[0, 100])),
            y=y,
            color=alt.Color(
                "outcome:N",
                sort=there,
                title=None,
                scale=alt.Scale(domain=there, range=[OUTCOME_COLOURS[word] for word in there]),
            ),
            order="place:Q",
            tooltip=["arm:N", "outcome:N", "n:Q", alt.Tooltip("percent:Q", format=".1f")],
        )
        numbers = (
            base.transform_filter("datum.percent >= 5")
            .mark_text(fontSize=10)
            .encode(
                x="middle:Q",
                y=y,
                text=alt.Text("percent:Q", format=".0f"),
                color=alt.condition(
                    alt.FieldOneOfPredicate("outcome", list(_DARK)),
                    alt.value("#fff"),
                    alt.value("#000"),
                ),
            )
        )
        panels.append(
            alt.layer(bars, numbers).properties(
                width=330, height={"step": 22}, title=alt.Title(name, fontWeight="normal")
            )
        )
    return alt.concat(*panels, columns=2, spacing=24)


def judge_against_matcher(samples: pd.DataFrame, judged: bool) -> Any:
    """How often the judge and the rules agree, a panel for each prompt set.

    Args:
        samples: From `overview`.
        judged: Whether a judge named the outcomes; rules beside themselves say nothing.
    """
    if not judged:
        return None
    said = {1.0: "refused", 0.0: "answered"}
    counted = (
        samples.assign(
            judge=samples["deployed"].map(said).fillna("unscored"),
            rules=samples["matcher"].where(samples["matcher"].isin(_RULED), "unscored"),
        )
        .groupby(["prompt_set", "judge", "rules"])
        .size()
        .rename("n")
        .reset_index()
    )
    counted["percent"] = 100 * counted["n"] / counted.groupby("prompt_set")["n"].transform("sum")
    panels = []
    words = [*_RULED, "unscored"]
    for name, rows in counted.groupby("prompt_set"):
        base = alt.Chart(rows).encode(
            x=alt.X("rules:N", sort=words, title="matcher", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("judge:N", sort=words, title="judge"),
        )
        cells = base.mark_rect().encode(
            color=alt.Color(
                "percent:Q",
                scale=alt.Scale(scheme="cividis", domain=[0, 100]),
                title="% of samples",
            ),
            tooltip=["judge:N", "rules:N", "n:Q", alt.Tooltip("percent:Q", format=".1f")],
        )
        numbers = base.mark_text().encode(
            text=alt.Text("n:Q", format=","),
            color=alt.condition("datum.percent > 55", alt.value("#000"), alt.value("#fff")),
        )
        panels.append(
            alt.layer(cells, numbers).properties(
                width={"step": 84},
                height={"step": 36},
                title=alt.Title(str(name), fontWeight="normal"),
            )
        )
    return alt.hconcat(*panels, spacing=40)
