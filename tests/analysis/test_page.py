"""What the page says in words, from runs made by hand."""

from typing import Any

import pandas as pd

from orbench_inspect.analysis import Runs
from orbench_inspect.analysis.calibration import Calibrate, Calibration
from orbench_inspect.analysis.calibration.record import convert
from orbench_inspect.analysis.correction import predictive
from orbench_inspect.analysis.overview import overview
from orbench_inspect.analysis.report.page import page_data
from tests.analysis.frames import made, refused

ARMS = {
    "none": {"hard": refused(40, 100), "toxic": refused(90, 100)},
    "a": {"hard": refused(20, 100), "toxic": refused(90, 100)},
}


def page(
    arms: dict[str, dict[str, list[str]]],
    notes: list[str] | None = None,
    calibrate: Calibrate | None = None,
    **run: Any,
) -> dict[str, Any]:
    runs = made(arms, **{"warnings": [], **run})
    samples = runs.samples.assign(flags="", injection_suspected=False)
    found = Runs(runs.runs, samples, notes or [])
    return page_data(overview(found, by="mitigation", calibrate=calibrate), responses=True)


def imperfect(runs: pd.DataFrame, samples: pd.DataFrame) -> Calibration:
    known = {"refused": predictive(20, 40, 1), "answered": predictive(2, 40, 2)}
    return Calibration("labels", {int(run): convert(known) for run in runs["run"]})


def test_a_difference_is_told_as_judged_and_corrected() -> None:
    (_, arm) = page(ARMS, calibrate=imperfect)["groups"][0]["arms"]
    assert arm["cells"][0]["difference"] == "-20.0"
    corrected = arm["cells"][0]["difference_corrected"]
    assert float(corrected.split()[0]) > -20
    assert f"; corrected for judge error {corrected})" in arm["sentence"]
    (_, raw) = page(ARMS)["groups"][0]["arms"]
    assert "corrected" not in raw["sentence"]


def test_one_arm_alone_is_corrected_too() -> None:
    told = page({"none": ARMS["none"]}, calibrate=imperfect)
    assert told["corrected"]
    (arm,) = told["groups"][0]["arms"]
    assert arm["cells"][0]["corrected"] is not None
    assert arm["cells"][0]["difference"] is None


def test_an_arm_that_failed_has_no_scored_responses_and_no_difference() -> None:
    arms = {**ARMS, "down": {"hard": ["judge_error"] * 100, "toxic": refused(90, 100)}}
    (*_, down) = page(arms)["groups"][0]["arms"]
    assert down["sentence"].startswith("refuses 90.0% of harmful prompts (+0.0 points from none")
    assert down["sentence"].endswith(", and has no scored responses to harmless prompts")
    assert down["cells"][0]["difference"] is None


def test_rules_have_no_judge_prompt() -> None:
    (rules, judged) = (
        page(ARMS, judge_prompt=name, judge_prompt_sha256=None) for name in (None, "x")
    )
    assert "judge prompt" not in rules["shared"]
    assert judged["shared"]["judge prompt"] == "x"


def test_of_one_side_the_question_of_both_is_not_asked() -> None:
    told = page({arm: {"hard": sets["hard"]} for arm, sets in ARMS.items()})
    assert not told["both_sides"]
    (_, arm) = told["groups"][0]["arms"]
    assert (arm["verdict"], arm["why"], arm["compared"]) == (None, None, True)
    assert "-20.0 points from none" in arm["sentence"]
    assert page(ARMS)["both_sides"]


def test_a_warning_is_told_once_with_the_model() -> None:
    warning = "system text was not observed to reach m: it did not know the word"
    runs = made(ARMS, warnings=[warning])
    other = [frame.assign(run=frame["run"] + 4) for frame in (runs.runs, runs.samples)]
    both = Runs(
        pd.concat([runs.runs, other[0].assign(model="m2", warnings=[[]] * 4)]),
        pd.concat([runs.samples, other[1]]).assign(flags="", injection_suspected=False),
        ["x.eval: system text was not observed to reach m", "x.eval: 5 of 6 samples"],
    )
    found = page_data(overview(both, by="mitigation"), responses=True)
    (note, told) = found["notes"]
    assert note == "x.eval: 5 of 6 samples"
    assert told == f"4 of 8 runs: {warning}"
    alone = both.runs[(both.runs["mitigation"] == "a") | (both.runs["model"] == "m2")]
    found = page_data(overview(Runs(alone, both.samples, []), by="mitigation"), responses=True)
    assert found["notes"][-1] == f"m · a on hard, m · a on toxic: {warning}"
