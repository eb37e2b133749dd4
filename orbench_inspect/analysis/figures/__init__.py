"""Figures: a frame in, a chart out, one function each."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orbench_inspect.analysis.figures.by_category import heat_map, radar
from orbench_inspect.analysis.figures.forest import forest
from orbench_inspect.analysis.figures.outcomes import composition, judge_against_matcher
from orbench_inspect.analysis.figures.theme import PAPER, as_spec
from orbench_inspect.analysis.figures.tradeoff import tradeoff
from orbench_inspect.analysis.overview import Overview
from orbench_inspect.analysis.published import WHY_APART

NAMES = ("tradeoff", "differences", "outcomes", "categories", "radar", "judge_matcher")
"""Names of all figures."""


@dataclass(frozen=True)
class Figure:
    """A chart with what must be said of it."""

    name: str
    title: str
    note: str
    chart: Any


def figures(found: Overview) -> Iterator[Figure]:
    """All figures that the runs allow.

    Args:
        found: From `overview`.
    """
    overlay = {"hard", "toxic"} <= set(found.arms["prompt_set"])
    judged = bool((found.arms["scorer"] == "judge").any())
    drawn = (
        Figure(
            "tradeoff",
            "Both sides at once",
            "Top left is best. Bars are 95% intervals."
            + (" Dashed lines join a group's arms to its baseline." if found.baseline else "")
            + (
                f" Grey: {WHY_APART}; † served to make the prompts; the dashed curve is the "
                "paper's fit of degree 2. To look at, not to test against."
                if overlay
                else ""
            ),
            tradeoff(found.rates, found.baseline, overlay),
        ),
        Figure(
            "differences",
            "Is the difference real?",
            "Paired by prompt, with 95% intervals. Filled: differs after Holm's adjustment over "
            "the panel's arms. Grey band: a second, independent run of the baseline, where there "
            "is one. Dashed: the margin.",
            forest(found.comparison) if found.comparison else None,
        ),
        Figure(
            "outcomes",
            "What responses came to",
            "Share of all samples. Greys are unscored, and no part of any rate.",
            composition(found.outcomes),
        ),
        Figure(
            "categories", "By category", "Refused, % of scored prompts.", heat_map(found.categories)
        ),
        Figure(
            "radar",
            "Categories as radar charts",
            "As in the paper: 0 in the middle, 100 at the rim, small is good.",
            radar(found.categories, found.baseline),
        ),
        Figure(
            "judge_matcher",
            "Judge against rules",
            "Samples of all arms, by what the judge and the matcher said of them. The matcher "
            "misses refusals that argue instead of declining.",
            judge_against_matcher(found.samples, judged),
        ),
    )
    return (figure for figure in drawn if figure.chart is not None)


def save(figure: Figure, folder: Path) -> None:
    """Write a figure as `NAME.svg` and `NAME.png`, for paper."""
    import vl_convert

    spec = as_spec(figure.chart, PAPER)
    svg = vl_convert.vegalite_to_svg(spec)
    (folder / f"{figure.name}.svg").write_text(svg, encoding="utf-8")
    (folder / f"{figure.name}.png").write_bytes(vl_convert.vegalite_to_png(spec, scale=2))
