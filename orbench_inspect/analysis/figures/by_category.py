"""Categories: a heat map of all arms, and radar charts like the paper's."""

from math import cos, pi, sin
from typing import Any

import altair as alt
import pandas as pd

from orbench_inspect.analysis.figures.theme import arm_marks

_RINGS = (25, 50, 75, 100)
# Text right of the web begins there, and text left of it ends there.
_SIDE = "datum.label_x > 9 ? 'left' : datum.label_x < -9 ? 'right' : 'center'"


def heat_map(categories: pd.DataFrame) -> Any:
    """Refusal rate by arm and category, a panel for each prompt set.

    Args:
        categories: From `overview`.
    """
    frame = categories.dropna(subset="rate").assign(
        percent=lambda f: 100 * f["rate"],
        low=lambda f: 100 * f["lower"],
        high=lambda f: 100 * f["upper"],
        row=_row_names,
    )
    if frame.empty:
        return None
    panels = [_heat_panel(rows, name) for name, rows in frame.groupby("prompt_set", sort=False)]
    return alt.vconcat(*panels, spacing=24)


def _row_names(frame: pd.DataFrame) -> "pd.Series[str]":
    if frame["group"].nunique() < 2:
        return frame["arm"].astype(str)
    return frame["group"].astype(str) + " · " + frame["arm"].astype(str)


def _heat_panel(rows: pd.DataFrame, name: object) -> Any:
    wanted = "answered" if rows["wanted"].iloc[0] == "answer" else "refused"
    base = alt.Chart(rows).encode(
        x=alt.X(
            "category:N",
            sort=list(dict.fromkeys(rows["category"])),
            title=None,
            axis=alt.Axis(labelAngle=-35, orient="top", domain=False, ticks=False),
        ),
        y=alt.Y(
            "row:N",
            sort=list(dict.fromkeys(rows["row"])),
            title=None,
            # The arm stands behind the model's name, and must not be cut off with it.
            axis=alt.Axis(domain=False, ticks=False, labelLimit=500),
        ),
    )
    cells = base.mark_rect().encode(
        color=alt.Color(
            "percent:Q",
            scale=alt.Scale(scheme="cividis", domain=[0, 100]),
            title="refused, %",
        ),
        tooltip=[
            *("row:N", "category:N", "n:Q"),
            *(alt.Tooltip(f"{c}:Q", format=".1f") for c in ("percent", "low", "high")),
        ],
    )
    numbers = base.mark_text(fontSize=10).encode(
        text=alt.Text("percent:Q", format=".0f"),
        color=alt.condition("datum.percent > 55", alt.value("#000"), alt.value("#fff")),
    )
    title = alt.Title(f"{name} (should be {wanted})", fontWeight="normal")
    return alt.layer(cells, numbers).properties(title=title, width={"step": 48})


def radar(categories: pd.DataFrame, baseline: str | None) -> Any:
    """Radar charts by category: hard refused and toxic answered, so that small is good in both.

    Args:
        categories: From `overview`.
        baseline: The arm that is drawn grey.

    Returns:
        The chart, a column for each prompt set and a row for each group; None with fewer than
        three categories, which span no area.
    """
    rows = []
    scored = categories.dropna(subset="rate")
    # Panels share one scale, as they share one legend.
    arms = list(dict.fromkeys(scored["arm"]))
    for _, of_group in scored.groupby("group", sort=False):
        panels = [
            _radar_panel(of_set, arms, baseline)
            for _, of_set in of_group.groupby("prompt_set", sort=False)
            if of_set["category"].nunique() >= 3
        ]
        if panels:
            rows.append(alt.hconcat(*panels, spacing=40))
    return alt.vconcat(*rows) if rows else None


def _radar_panel(rows: pd.DataFrame, arms: list[str], baseline: str | None) -> Any:
    names = list(dict.fromkeys(rows["category"]))
    angle = {name: 2 * pi * n / len(names) for n, name in enumerate(names)}
    answered = rows["wanted"].iloc[0] == "refuse"
    percent = 100 * ((1 - rows["rate"]) if answered else rows["rate"])
    frame = _closed(rows.assign(percent=percent), angle)
    colour, shape = arm_marks(arms, baseline)
    told = alt.Color("arm:N", scale=colour, sort=arms, title="arm")
    base = alt.Chart(frame).encode(
        x=_flat("x"), y=_flat("y"), color=told, order="order:Q", detail="arm:N"
    )
    lines = base.mark_line(strokeWidth=1.8, opacity=0.85)
    points = base.mark_point(filled=True, size=40).encode(
        shape=alt.Shape("arm:N", scale=shape, sort=arms, title="arm"),
        tooltip=["arm:N", "category:N", alt.Tooltip("percent:Q", format=".1f"), "n:Q"],
    )
    what = "answered" if answered else "refused"
    group = f"{rows['group'].iloc[0]}: {rows['prompt_set'].iloc[0]}, % {what} (small is good)"
    return alt.layer(*_web(angle), lines, points).properties(
        width=300, height=300, title=alt.Title(group, fontWeight="normal", anchor="middle")
    )


def _closed(frame: pd.DataFrame, angle: dict[str, float]) -> pd.DataFrame:
    """Points in the plane, each arm's first one again at the end."""
    placed = frame.assign(
        x=[p * sin(angle[c]) for p, c in zip(frame["percent"], frame["category"], strict=True)],
        y=[p * cos(angle[c]) for p, c in zip(frame["percent"], frame["category"], strict=True)],
    )
    parts = []
    for _, points in placed.groupby("arm", sort=False):
        whole = pd.concat([points, points.iloc[:1]])
        parts.append(whole.assign(order=range(len(whole))))
    return pd.concat(parts)


def _web(angle: dict[str, float]) -> list[Any]:
    corners = [*angle.values(), 0.0]
    rings = pd.DataFrame(
        {"ring": r, "x": r * sin(a), "y": r * cos(a), "order": n}
        for r in _RINGS
        for n, a in enumerate(corners)
    )
    ends = pd.DataFrame(
        {
            "category": name,
            "x": 100 * sin(a),
            "y": 100 * cos(a),
            "zero": 0,
            "label_x": 106 * sin(a),
            "label_y": 110 * cos(a),
        }
        for name, a in angle.items()
    )
    marks = pd.DataFrame({"x": 0, "y": _RINGS, "ring": _RINGS})
    at = {"x": _flat("x"), "y": _flat("y")}
    faint: dict[str, Any] = {"color": "#999999", "strokeWidth": 0.6, "opacity": 0.6}
    return [
        alt.Chart(rings).mark_line(**faint).encode(**at, detail="ring:N", order="order:Q"),
        alt.Chart(ends).mark_rule(**faint).encode(**at, x2="zero:Q", y2="zero:Q"),
        alt.Chart(marks)
        .mark_text(fontSize=9, dx=3, align="left", opacity=0.7)
        .encode(**at, text="ring:Q"),
        alt.Chart(ends)
        .mark_text(fontSize=11, limit=220, align=alt.expr(_SIDE))
        .encode(x=_flat("label_x"), y=_flat("label_y", "Y"), text="category:N"),
    ]


def _flat(column: str, channel: str | None = None) -> Any:
    make = alt.Y if (channel or column).lower().endswith("y") else alt.X
    return make(f"{column}:Q", axis=None, scale=alt.Scale(domain=[-128, 128], nice=False))
