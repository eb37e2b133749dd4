"""What all figures share: colours that colour-blind readers tell apart, shapes, sizes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

# Okabe and Ito's palette without black and yellow, which are lost on one of the backgrounds.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
BASELINE = "#808080"
# Colours and shapes come round at different times: 30 arms have marks of their own.
SHAPES = ("square", "triangle-up", "diamond", "triangle-down", "cross")
FAMILY_SHAPES = (
    *("circle", "square", "diamond", "triangle-up", "triangle-down", "cross"),
    *("triangle-left", "triangle-right"),
)
FAINT = 0.45


@dataclass(frozen=True)
class Ink:
    """Colours of what is not data."""

    text: str
    lines: str


PAPER = Ink(text="#222222", lines="#cccccc")
PAGE = Ink(text="var(--ink)", lines="var(--line)")
"""For a page that sets them, in light, dark and print."""


def arm_marks(arms: Sequence[str], baseline: str | None) -> tuple[alt.Scale, alt.Scale]:
    """Scales of colour and shape for arms; the baseline and its repetitions are grey circles."""
    marks = {arm: (BASELINE, "circle") for arm in arms if arm.partition("#")[0] == baseline}
    for n, arm in enumerate(arm for arm in arms if arm not in marks):
        marks[arm] = (COLOURS[n % len(COLOURS)], SHAPES[n % len(SHAPES)])
    return (
        alt.Scale(domain=arms, range=[marks[arm][0] for arm in arms]),
        alt.Scale(domain=arms, range=[marks[arm][1] for arm in arms]),
    )


def as_spec(chart: Any, ink: Ink) -> dict[str, Any]:
    """A chart as Vega-Lite, in the ink of a page or of paper."""
    spec: dict[str, Any] = chart.to_dict()
    return spec | {"config": _config(ink), "background": "transparent" if ink is PAGE else "white"}


def _config(ink: Ink) -> Mapping[str, Any]:
    quiet = {"labelColor": ink.text, "titleColor": ink.text, "titleFontWeight": "normal"}
    return {
        # A browser measures and draws these alike; with system-ui, labels were cut off.
        "font": "Helvetica, Arial, sans-serif",
        "view": {"stroke": None},
        "axis": {
            **quiet,
            "gridColor": ink.lines,
            "gridOpacity": 0.6,
            "domainColor": ink.lines,
            "tickColor": ink.lines,
            "labelFontSize": 11,
            "titleFontSize": 12,
            "labelLimit": 220,
        },
        "legend": {**quiet, "labelFontSize": 11, "titleFontSize": 12, "labelLimit": 260},
        "header": {**quiet, "labelFontSize": 12, "labelFontWeight": "bold", "labelLimit": 400},
        "title": {"color": ink.text, "subtitleColor": ink.text, "anchor": "start", "fontSize": 13},
        "text": {"color": ink.text, "fontSize": 11},
        "rule": {"color": ink.lines},
    }
