"""Both sides at once: refusal of harmless prompts against refusal of harmful ones."""

from typing import Any

import altair as alt
import pandas as pd

from orbench_inspect.analysis.figures.theme import BASELINE, FAINT, FAMILY_SHAPES, arm_marks
from orbench_inspect.analysis.published import CURVE, published

X = alt.Scale(domain=[0, 100], nice=False)
_LOWEST_PUBLISHED = 60


def tradeoff(rates: pd.DataFrame, baseline: str | None, overlay: bool) -> Any:
    """One mark an arm with both 95% intervals, arms of a group joined to their baseline.

    Args:
        rates: From `overview`.
        baseline: The arm the others are joined to; None to join nothing.
        overlay: Whether to show the published models behind.

    Returns:
        The chart; None if no arm was run on prompts of both sides.
    """
    deployed = rates[rates["reading"] == "deployed"]
    columns = ["rate", "lower", "upper"]
    sides = {
        wanted: rows.set_index(["group", "arm"])[columns] * 100
        for wanted, rows in deployed.groupby("wanted")
    }
    if sides.keys() != {"answer", "refuse"}:
        return None
    frame = sides["answer"].merge(sides["refuse"], on=["group", "arm"], suffixes=("_x", "_y"))
    # In the order of the arms, baseline first, which a join may not keep.
    frame = frame.reindex(sides["answer"].index.intersection(frame.index)).dropna().reset_index()
    if frame.empty:
        return None
    lowest = min(frame["lower_y"].min(), _LOWEST_PUBLISHED if overlay else 100)
    y = alt.Scale(domain=[10 * (lowest // 10), 100], nice=False)
    marks = _arms(frame, baseline, y)
    if overlay:
        marks = alt.layer(_published(y), marks).resolve_scale(
            shape="independent", color="independent"
        )
    return marks.properties(width=560, height=400)


def _arms(frame: pd.DataFrame, baseline: str | None, scale: alt.Scale) -> Any:
    arms = list(dict.fromkeys(frame["arm"]))
    colour, shape = arm_marks(arms, baseline)
    told = alt.Color("arm:N", scale=colour, title="arm", sort=arms)
    several = frame["group"].nunique() > 1
    base = alt.Chart(frame)
    x = alt.X("rate_x:Q", scale=X, title="refused of prompts that should be answered, %")
    y = alt.Y("rate_y:Q", scale=scale, title="refused of prompts that should be refused, %")
    tooltip = [alt.Tooltip("group:N", title="group"), alt.Tooltip("arm:N", title="arm")] + [
        alt.Tooltip(f"{column}_{side}:Q", title=f"{name} {column}", format=".1f")
        for side, name in (("x", "harmless"), ("y", "harmful"))
        for column in ("rate", "lower", "upper")
    ]
    layers = [
        base.mark_rule(strokeWidth=1.5).encode(
            x=alt.X("lower_x:Q", scale=X), x2="upper_x:Q", y=y, color=told
        ),
        base.mark_rule(strokeWidth=1.5).encode(
            y=alt.Y("lower_y:Q", scale=scale), y2="upper_y:Q", x=x, color=told
        ),
        base.mark_point(filled=True, size=110, opacity=1).encode(
            x=x,
            y=y,
            color=told,
            shape=alt.Shape("arm:N", scale=shape, title="arm", sort=arms),
            tooltip=tooltip,
        ),
    ]
    if baseline is not None:
        layers.insert(0, _joined(frame, baseline))
    if several:
        of = frame[frame["arm"] == baseline] if baseline is not None else frame
        labels = alt.Chart(of).mark_text(align="left", dx=9, dy=-8, fontStyle="italic")
        layers.append(labels.encode(x=x, y=y, text="group:N"))
    return alt.layer(*layers)


def _joined(frame: pd.DataFrame, baseline: str) -> Any:
    from_base = frame.merge(frame[frame["arm"] == baseline], on="group", suffixes=("", "_base"))
    lines = alt.Chart(from_base[from_base["arm"] != baseline])
    return lines.mark_rule(color=BASELINE, strokeDash=[3, 3], opacity=0.7).encode(
        x="rate_x_base:Q", y="rate_y_base:Q", x2="rate_x:Q", y2="rate_y:Q"
    )


def _published(scale: alt.Scale) -> Any:
    """The published models, faint: hollow where they were scored on the earlier prompts."""
    frame = pd.DataFrame(
        {
            "model": m.model + (" †" if m.role else ""),
            "family": m.family,
            "hard": m.hard,
            "toxic": m.toxic,
            "prompts": f"{m.hard_prompts:,} and {m.toxic_prompts}"
            + (", never released" if m.early else ", as released"),
            "scored on": "earlier prompts" if m.early else "released prompts",
            "role": m.role or "none",
        }
        for m in published()
    )
    x, y = alt.X("hard:Q", scale=X), alt.Y("toxic:Q", scale=scale)
    points = (
        alt.Chart(frame)
        .mark_point(color=BASELINE, size=55, opacity=FAINT)
        .encode(
            x=x,
            y=y,
            shape=alt.Shape(
                "family:N",
                title="published, by family",
                scale=alt.Scale(domain=sorted(set(frame["family"])), range=list(FAMILY_SHAPES)),
            ),
            fill=alt.Fill(
                "scored on:N",
                title="published, scored on",
                scale=alt.Scale(
                    domain=["earlier prompts", "released prompts"], range=["transparent", BASELINE]
                ),
                legend=alt.Legend(symbolStrokeColor=BASELINE),
            ),
            tooltip=["model", "family", "hard", "toxic", "prompts", alt.Tooltip("role:N")],
        )
    )
    daggers = (
        alt.Chart(frame[frame["role"] != "none"])
        .mark_text(text="†", dx=8, dy=-4, color=BASELINE)
        .encode(x=x, y=y)
    )
    a, b, c = CURVE
    at = range(int(frame["hard"].min()), 101, 2)
    curve = pd.DataFrame({"hard": at, "toxic": [a + b * h + c * h * h for h in at]})
    line = alt.Chart(curve).mark_line(color=BASELINE, strokeDash=[6, 4], opacity=FAINT)
    return alt.layer(line.encode(x=x, y=y), points, daggers)
