"""Figures: what is drawn is what the frames say, and the published layer is told apart."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pandas as pd
import pytest

from orbench_inspect.analysis import Runs
from orbench_inspect.analysis.figures import figures
from orbench_inspect.analysis.figures.forest import _holm
from orbench_inspect.analysis.figures.theme import PAPER, as_spec
from orbench_inspect.analysis.overview import Overview, overview
from orbench_inspect.analysis.published import CATEGORIES
from tests.analysis.frames import made, refused

UNSCORED = ["unparsed"] * 5


def seen(runs: Runs) -> Overview:
    samples = runs.samples.assign(matcher="answered")
    return overview(Runs(runs.runs, samples, runs.notes), by="mitigation")


@cache
def study() -> Overview:
    return seen(
        made(
            {
                "none": {"hard": refused(30, 100), "toxic": refused(90, 100)},
                "a": {"hard": refused(24, 100), "toxic": [*refused(88, 95), *UNSCORED]},
                "b": {"hard": refused(10, 100), "toxic": refused(89, 100)},
                "none#2": {"hard": refused(31, 100), "toxic": refused(90, 100)},
            },
            categories=list(reversed(CATEGORIES)),
        )
    )


def spec(found: Overview, name: str) -> dict[str, Any]:
    figure = next(figure for figure in figures(found) if figure.name == name)
    return as_spec(figure.chart, PAPER)


def rows(chart: dict[str, Any], field: str) -> list[dict[str, Any]]:
    """The rows of the first of a chart's frames that has a field."""
    return next(data for data in chart["datasets"].values() if field in data[0])


def encodings(chart: Any) -> Iterator[dict[str, Any]]:
    if isinstance(chart, dict):
        if "encoding" in chart:
            yield chart["encoding"]
        for part in chart.values():
            yield from encodings(part)
    elif isinstance(chart, list):
        for part in chart:
            yield from encodings(part)


def test_published_models_are_told_apart_by_the_prompts_they_were_scored_on() -> None:
    chart = spec(study(), "tradeoff")
    layer = rows(chart, "family")
    assert len(layer) == 32
    assert sum(row["scored on"] == "earlier prompts" for row in layer) == 25
    assert sum("†" in row["model"] for row in layer) == 7
    fills = [e["fill"]["scale"] for e in encodings(chart) if "fill" in e]
    assert [dict(zip(f["domain"], f["range"], strict=True))["earlier prompts"] for f in fills] == [
        "transparent"
    ]


def test_other_sets_are_not_shown_beside_published_results() -> None:
    runs = made(
        {"none": {"safe": refused(3, 9), "unsafe": refused(8, 9)}},
        wanted={"safe": "answer", "unsafe": "refuse"},
    )
    alone = seen(runs)
    chart = spec(alone, "tradeoff")
    assert not any("family" in data[0] for data in chart["datasets"].values())


def test_arms_are_marked_by_colour_and_shape_and_the_baseline_is_grey() -> None:
    found = [e for e in encodings(spec(study(), "tradeoff")) if "shape" in e and "tooltip" in e]
    (arms,) = (e for e in found if e["shape"]["field"] == "arm")
    marks = zip(arms["color"]["scale"]["range"], arms["shape"]["scale"]["range"], strict=True)
    by_arm = dict(zip(arms["color"]["scale"]["domain"], marks, strict=True))
    assert by_arm["none"] == by_arm["none#2"] == ("#808080", "circle")
    assert len(set(by_arm.values())) == 3


def test_a_difference_is_marked_only_if_it_holds_beside_the_other_arms() -> None:
    found = study()
    told = {row["arm"]: row["told"] for row in rows(spec(found, "differences"), "told")}
    # 6 and 20 prompts answered that the baseline refused, none the other way.
    assert told == {"a": "differs (Holm 5%)", "b": "differs (Holm 5%)", "none#2": "baseline again"}
    # Each would differ alone, neither does beside the other.
    assert _holm(pd.Series([0.03, 0.04])) == ["not shown to differ"] * 2


def test_unscored_samples_are_part_of_the_composition() -> None:
    outcomes = study().outcomes
    of_a = outcomes[(outcomes["arm"] == "a") & (outcomes["prompt_set"] == "toxic")]
    assert dict(zip(of_a["outcome"], of_a["share"], strict=True)) == pytest.approx(
        {"direct_refusal": 0.88, "direct_answer": 0.07, "unparsed": 0.05}
    )
    chart = spec(study(), "outcomes")
    drawn = {row["outcome"] for data in chart["datasets"].values() for row in data}
    assert drawn == {"direct_refusal", "direct_answer", "unparsed"}


def test_categories_come_in_the_papers_order() -> None:
    found = study()
    assert tuple(dict.fromkeys(found.categories["category"])) == CATEGORIES
    chart = spec(found, "radar")
    labels = rows(chart, "label_x")
    assert [row["category"] for row in labels] == list(CATEGORIES)


def test_the_radar_shows_harmful_prompts_as_answered() -> None:
    runs = made({"none": {"toxic": refused(8, 10)}}, categories=["x", "y"] + ["z"] * 8)
    found = seen(runs)
    by_category = {row["category"]: row["percent"] for row in rows(spec(found, "radar"), "percent")}
    assert by_category == pytest.approx({"x": 0, "y": 0, "z": 25})


def test_arms_look_the_same_in_all_panels_of_the_radar() -> None:
    runs = made(
        {arm: {"hard": refused(5, 9)} for arm in ("none", "a", "b")}, categories=["x", "y", "z"]
    )
    # The other model was not run under `a`.
    runs.runs["model"] = ["m", "m", "other"]
    runs.runs.loc[2, ["mitigation", "composed_sha256"]] = "none"
    again = runs.runs[runs.runs["run"] == 2].assign(run=3, mitigation="b", composed_sha256="b")
    samples = runs.samples[runs.samples["run"] == 2].assign(run=3)
    both = Runs(pd.concat([runs.runs, again]), pd.concat([runs.samples, samples]), [])
    drawn = list(encodings(spec(seen(both), "radar")))
    for channel in ("color", "shape"):
        scales = [str(e[channel]["scale"]) for e in drawn if e.get(channel, {}).get("field")]
        assert len(scales) > 1
        assert len(set(scales)) == 1


def test_rules_are_not_compared_with_themselves() -> None:
    assert "judge_matcher" in {figure.name for figure in figures(study())}
    found = study()
    found = replace(found, arms=found.arms.assign(scorer="matcher"))
    assert "judge_matcher" not in {figure.name for figure in figures(found)}


def test_an_arm_without_a_scored_prompt_is_drawn_as_what_it_is() -> None:
    found = seen(made({"none": {"hard": ["unparsed"] * 30}}, categories=["x", "y", "z"]))
    assert [figure.name for figure in figures(found)] == ["outcomes", "judge_matcher"]
