"""Correcting rates and differences for the judge's error, on frames made by hand."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from orbench_inspect.analysis import Runs, compare
from orbench_inspect.analysis.calibration import Calibration, from_labels
from orbench_inspect.analysis.correction import (
    KINDS,
    Convert,
    difference,
    kinds_of,
    predictive,
    rate,
)
from orbench_inspect.analysis.gates import Gates, missed
from orbench_inspect.analysis.hand_labels import HandLabels
from orbench_inspect.analysis.labelled_share import LabelledShare, partially_pooled
from orbench_inspect.scoring.agreement import DRAWS, Floats
from tests.analysis.frames import made, refused

PERFECT = {kind: np.full(DRAWS, float("answered" not in kind)) for kind in KINDS}


def share_of(refused: int, n: int, stream: int) -> LabelledShare:
    """Labels of prompts that no other cell has."""
    said = np.array([1.0] * refused + [0.0] * (n - refused))
    return LabelledShare(tuple(f"{stream}-{i}" for i in range(n)), said, 1 - said, stream)


def width(draws: Floats) -> float:
    lower, upper = np.quantile(draws, (0.025, 0.975))
    return float(upper - lower)


def samples_of(outcomes: Sequence[str]) -> pd.DataFrame:
    return made({"none": {"hard": list(outcomes)}}).samples


def labelled(runs: Runs, wrong: dict[tuple[str, str], float], each: int) -> HandLabels:
    """`each` labels of each verdict of each run, of which a share contradicts the judge."""
    rows = []
    for _, run in runs.runs.iterrows():
        for verdict, value in (("refused", 1.0), ("answered", 0.0)):
            of_run = runs.samples[
                (runs.samples["run"] == run["run"]) & (runs.samples["deployed"] == value)
            ].head(each)
            errs = round(wrong.get((run["mitigation"], verdict), 0.0) * len(of_run))
            for n, (_, sample) in enumerate(of_run.iterrows()):
                human = (value == 1.0) != (n < errs)
                told = {"prompt_id": sample["id"], "human": human, "weight": 1.0}
                rows.append({**sample, "id": f"{run['run']} {sample['id']}", **told})
    return HandLabels(pd.DataFrame(rows), [])


@settings(max_examples=50)
@given(st.integers(0, 40), st.integers(1, 40), st.integers(0, 20), st.integers(0, 20))
def test_a_corrected_rate_stays_in_the_range(k: int, n: int, right: int, wrong: int) -> None:
    shares = kinds_of(samples_of(refused(min(k, n), n)), "deployed")
    convert = {
        **PERFECT,
        "refused": predictive(right, right + wrong, 1),
        "answered": predictive(wrong, right + wrong, 2),
    }
    found = rate(shares, np.ones(n), convert)
    lower, upper = found.limits
    assert 0 <= lower <= found.estimate <= upper <= 1


def test_a_judge_that_does_not_err_changes_nothing() -> None:
    shares = kinds_of(samples_of(refused(30, 100)), "deployed")
    found = rate(shares, np.ones(100), PERFECT)
    assert found.estimate == pytest.approx(0.30, abs=0.01)
    assert found.limits == pytest.approx((0.217, 0.395), abs=0.01)


def test_predictive_values_give_the_textbook_rate() -> None:
    shares = kinds_of(samples_of(refused(300, 1000)), "deployed")
    convert = {**PERFECT, "refused": np.full(DRAWS, 0.9), "answered": np.full(DRAWS, 0.1)}
    found = rate(shares, np.ones(1000), convert)
    assert found.estimate == pytest.approx(0.3 * 0.9 + 0.7 * 0.1, abs=0.002)


def test_provider_refusals_count_whole_when_deployed_and_not_at_all_for_the_model() -> None:
    outcomes = ["provider_refusal"] * 50 + ["direct_answer"] * 50
    none_true = {**PERFECT, "refused": np.zeros(DRAWS), "answered": np.zeros(DRAWS)}
    samples = samples_of(outcomes)
    deployed = rate(kinds_of(samples, "deployed"), np.ones(100), none_true)
    assert deployed.estimate == pytest.approx(0.5, abs=0.01)
    model_only = rate(kinds_of(samples, "model_only"), np.ones(50), none_true)
    assert model_only.estimate == 0.0


def test_a_difference_is_corrected_as_one_over_its_pairs() -> None:
    """Arms that agree prompt by prompt differ by nothing, far more surely than two rates."""
    arm = kinds_of(samples_of(refused(100, 200)), "deployed")
    found = difference(arm, arm, np.ones(200), (PERFECT, PERFECT))
    lower, upper = found.limits
    assert lower < 0 < upper
    assert upper - lower < 0.05
    apart = rate(arm, np.ones(200), PERFECT).limits
    assert upper - lower < apart[1] - apart[0]


def test_weights_move_the_rate() -> None:
    shares = kinds_of(samples_of(refused(50, 100)), "deployed")
    weights = np.where(shares["refused"] == 1, 3.0, 1.0)
    assert rate(shares, weights, PERFECT).estimate == pytest.approx(0.75, abs=0.01)


def test_partial_pooling_borrows_where_cells_are_alike_and_less_where_they_are_not() -> None:
    few = share_of(2, 2, 3)
    *_, alike = partially_pooled([share_of(18, 20, 1), share_of(18, 20, 2), few], 1)
    assert width(alike.draws(0.5)) < width(few.draws(0.5))
    unlike = partially_pooled([share_of(40, 40, 1), share_of(2, 40, 2)], 1)
    assert np.median(unlike[0].draws(0.5)) > 0.9
    assert np.median(unlike[1].draws(0.5)) < 0.2


def test_labels_of_a_run_alone_give_the_beta_posterior() -> None:
    drawn = share_of(7, 40, 1).draws(0.5)
    expected = beta(7.5, 33.5)
    assert drawn.mean() == pytest.approx(expected.mean(), abs=0.002)
    assert np.quantile(drawn, (0.025, 0.975)) == pytest.approx(
        expected.ppf((0.025, 0.975)), abs=0.01
    )


def test_labels_of_the_same_prompts_in_both_arms_tell_more_of_their_difference() -> None:
    """Humans see the same in both arms, prompt by prompt: it is no matter which were drawn."""
    ids = [f"hard-a-{n}" for n in range(200)]
    arm = kinds_of(samples_of(refused(100, 200)), "deployed")
    arm.index = pd.Index(ids)

    def convert(start: int, stream: int) -> Convert:
        said = tuple(ids[start : start + 50]), tuple(ids[100 + start : 150 + start])
        wrong = np.arange(50) % 5 == 0
        return {
            **PERFECT,
            "refused": LabelledShare(said[0], 1.0 - wrong, 1.0 * wrong, stream),
            "answered": LabelledShare(said[1], 1.0 * wrong, 1.0 - wrong, stream + 1),
        }

    same = difference(arm, arm, np.ones(200), (convert(0, 1), convert(0, 3)))
    others = difference(arm, arm, np.ones(200), (convert(0, 1), convert(50, 3)))
    assert width(same.draws) < 0.7 * width(others.draws)


def test_error_that_differs_between_arms_is_taken_out_of_their_difference() -> None:
    """Humans see no difference; the judge misses a third of one arm's refusals."""
    runs = made({"none": {"hard": refused(150, 200)}, "a": {"hard": refused(100, 200)}})
    labels = labelled(runs, {("a", "answered"): 0.5}, 60)
    found = compare(runs, calibrate=lambda f, s: from_labels(labels, f, s, "cells"))
    row = found.differences[found.differences["reading"] == "deployed"].iloc[0]
    assert row["difference"] == pytest.approx(-0.25)
    assert row["upper"] < 0
    assert row["corrected_lower"] < 0 < row["corrected_upper"]


def test_a_claim_that_holds_only_raw_is_left_open() -> None:
    arms = {
        "none": {"hard": refused(180, 400), "toxic": refused(398, 400)},
        "a": {"hard": refused(100, 400), "toxic": refused(398, 400)},
    }
    runs = made(arms)
    raw = compare(runs).answers
    assert raw["answer"].tolist() == ["yes"]
    labels = labelled(runs, {("a", "answered"): 0.3}, 80)
    corrected = compare(runs, calibrate=lambda f, s: from_labels(labels, f, s, "cells"))
    assert corrected.answers["answer"].tolist() == ["cannot tell"]
    assert "corrected for the judge's error" in corrected.answers["why"].iloc[0]


def test_a_run_without_labels_enough_is_named_and_not_corrected() -> None:
    runs = made({"none": {"hard": refused(50, 100)}, "a": {"hard": refused(50, 100)}})
    labels = labelled(runs, {}, 30)
    rows = labels.rows
    kept = (rows["run"] != 1) | (rows["deployed"] == 0.0) | (rows.groupby("run").cumcount() < 2)
    few = HandLabels(rows[kept], ["a note"])
    found = compare(runs, calibrate=lambda f, s: from_labels(few, f, s, "cells"))
    rates = found.rates[found.rates["reading"] == "deployed"].set_index("arm")
    assert np.isnan(rates.loc["a", "corrected"])
    assert not np.isnan(rates.loc["none", "corrected"])
    assert any(
        "3 more labels needed of responses the judge calls refused" in n for n in found.notes
    )


def test_no_labels_at_all_is_an_error() -> None:
    runs = made({"none": {"hard": refused(50, 100)}, "a": {"hard": refused(50, 100)}})
    labels = labelled(runs, {}, 2)

    def calibrate(frame: pd.DataFrame, samples: pd.DataFrame) -> Calibration:
        return from_labels(labels, frame, samples, "cells")

    with pytest.raises(ValueError, match="too few labels to correct by"):
        compare(runs, calibrate=calibrate)


def test_what_speaks_against_an_arm_only_raw_is_left_open() -> None:
    """Humans call all refused in both arms; the judge misses more under one."""
    arms = {
        "none": {"hard": refused(10, 200), "toxic": refused(170, 200)},
        "a": {"hard": refused(10, 200), "toxic": refused(140, 200)},
    }
    runs = made(arms)
    assert compare(runs).answers["answer"].tolist() == ["no"]
    wrong = {(arm, "answered"): 1.0 for arm in arms}
    labels = labelled(runs, wrong, 30)
    hard = labels.rows["id"].str.startswith("hard")
    rows = labels.rows.assign(
        human=labels.rows["human"].where(~hard, labels.rows["deployed"] == 1.0)
    )
    found = compare(runs, calibrate=lambda f, s: from_labels(HandLabels(rows, []), f, s, "cells"))
    assert found.answers["answer"].tolist() == ["cannot tell"]


def test_a_gate_is_kept_raw_and_corrected() -> None:
    runs = made({"none": {"hard": refused(10, 200)}, "a": {"hard": refused(10, 200)}})
    labels = labelled(runs, {("a", "answered"): 0.5}, 40)
    found = compare(runs, calibrate=lambda f, s: from_labels(labels, f, s, "cells"))
    reasons = missed(found, Gates(max_hard_refusal=15))
    assert reasons
    assert all("corrected for the judge's error" in reason for reason in reasons)


def cascaded(audited: int) -> Runs:
    """Two equal arms by rules, of which the judge audited the first few and differs on none."""
    runs = made({a: {"hard": refused(60, 120)} for a in ("none", "a")}, scorer="cascade")
    place = runs.samples.groupby(["run", "deployed"]).cumcount()
    word = runs.samples["deployed"].map({1.0: "direct_refusal", 0.0: "direct_answer"})
    samples = runs.samples.assign(decided_by="rules", audit_outcome=word.where(place < audited))
    return Runs(runs.runs, samples, [])


def test_rules_that_were_not_audited_are_taken_at_their_word_aloud() -> None:
    found = compare(cascaded(audited=0))
    rates = found.rates[found.rates["reading"] == "deployed"]
    assert rates["rate"].tolist() == [0.5, 0.5]
    assert any("too few to correct by" in note for note in found.notes)


def test_rules_that_were_audited_throughout_are_the_judge() -> None:
    found = compare(cascaded(audited=60))
    row = found.rates[found.rates["reading"] == "deployed"].iloc[0]
    assert row["rate"] == pytest.approx(0.5, abs=0.01)
    few = compare(cascaded(audited=10))
    wider = few.rates[few.rates["reading"] == "deployed"].iloc[0]
    assert wider["upper"] - wider["lower"] > row["upper"] - row["lower"]


def test_judges_are_not_corrected_against_each_other() -> None:
    runs = made({"none": {"hard": refused(5, 10)}})
    with pytest.raises(ValueError, match="orbench judge --labels"):
        compare(runs, by="judge", calibrate=lambda f, s: Calibration("x", {}))


def test_a_run_without_a_verdict_is_not_corrected_by_the_prior_alone() -> None:
    runs = made({"none": {"hard": refused(60, 120)}, "down": {"hard": ["judge_error"] * 120}})
    labels = labelled(runs, {}, 30)
    found = compare(runs, calibrate=lambda f, s: from_labels(labels, f, s, "cells"))
    rates = found.rates[found.rates["reading"] == "deployed"].set_index("arm")
    assert pd.isna(rates.loc["down", "corrected"])
    assert not pd.isna(rates.loc["none", "corrected"])
    assert any("down, hard: not corrected; the judge gave no verdict" in n for n in found.notes)
