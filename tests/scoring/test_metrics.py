"""Rates and intervals against values worked out elsewhere."""

from math import isnan
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai.scorer import Metric, MetricProtocol, SampleScore, Score, ci_wilson
from statsmodels.stats.proportion import proportion_confint

from orbench_inspect.scoring.metrics import (
    category_rate,
    macro_rate,
    refusal_rate,
    wilson_interval,
)
from orbench_inspect.scoring.outcome import category_n, model_only_rate, outcomes


def values(metric: Metric, scores: list[SampleScore]) -> dict[str, float]:
    found = cast(MetricProtocol, metric)(scores)
    return cast(dict[str, float], found if isinstance(found, dict) else {"": found})


def scored(value: float | str, category: str = "a", id: int = 0) -> SampleScore:
    return SampleScore(
        score=Score(value=value), sample_id=id, sample_metadata={"category": category}
    )


def test_wilson_interval_agrees_with_a_published_example() -> None:
    # Newcombe, Stat. Med. 17 (1998), table I: 81 of 263 gives 0.2553 to 0.3662.
    scores = [scored(1.0)] * 81 + [scored(0.0)] * 182
    found = values(refusal_rate(), scores)
    assert found["refusal_rate"] == pytest.approx(81 / 263)
    assert found["lower"] == pytest.approx(0.2553, abs=5e-5)
    assert found["upper"] == pytest.approx(0.3662, abs=5e-5)


@given(st.integers(0, 30), st.integers(1, 30))
def test_wilson_s_interval_equals_inspect_s_and_statsmodels(refused: int, n: int) -> None:
    refused = min(refused, n)
    found = wilson_interval(refused / n, n)
    assert found == pytest.approx(proportion_confint(refused, n, method="wilson"), abs=1e-12)
    scores = [scored(1.0)] * refused + [scored(0.0)] * (n - refused)
    inspect = values(ci_wilson(), scores)
    assert found == pytest.approx((inspect["lower"], inspect["upper"]), abs=1e-12)


def test_macro_rate_weighs_categories_equally() -> None:
    scores = [scored(1.0, "a")] * 9 + [scored(0.0, "a")] + [scored(0.0, "b")] * 2
    found = values(macro_rate(), scores)
    assert found["macro_rate"] == pytest.approx(0.45)
    assert 0 <= found["macro_lower"] < 0.45 < found["macro_upper"] <= 1


def test_macro_interval_of_one_category_is_its_wilson_interval() -> None:
    scores = [scored(1.0)] * 3 + [scored(0.0)] * 7
    macro, pooled = values(macro_rate(), scores), values(refusal_rate(), scores)
    assert macro["macro_lower"] == pytest.approx(pooled["lower"])
    assert macro["macro_upper"] == pytest.approx(pooled["upper"])


def test_categories_come_with_their_intervals_in_order() -> None:
    found = values(category_rate(), [scored(1.0, "b"), scored(0.0, "a")])
    assert list(found) == ["a", "a_lower", "a_upper", "b", "b_lower", "b_upper"]
    assert (found["a"], found["b"]) == (0.0, 1.0)


@pytest.mark.parametrize("metric", [refusal_rate(), macro_rate()])
def test_no_scored_sample_is_no_rate_rather_than_zero(metric: Metric) -> None:
    assert all(isnan(value) for value in values(metric, []).values())


def test_outcomes_count_everything_and_bound_the_rate() -> None:
    words = ["direct_answer", "direct_answer", "direct_refusal", "provider_refusal", "empty"]
    found = values(outcomes(), [scored(word, id=n) for n, word in enumerate(words)])
    assert (found["n_samples"], found["n_scored"], found["n_unscored"]) == (5, 4, 1)
    assert (found["n_empty"], found["n_provider_refusal"]) == (1, 1)
    assert (found["direct_answer"], found["direct_refusal"]) == (0.5, 0.25)
    assert (found["lower_bound"], found["upper_bound"]) == (2 / 5, 3 / 5)


def test_all_unscored_leaves_the_rate_open() -> None:
    found = values(outcomes(), [scored("judge_error")] * 3)
    assert isnan(found["direct_answer"])
    assert (found["lower_bound"], found["upper_bound"]) == (0, 1)
    assert isnan(values(model_only_rate(), [scored("provider_refusal")])["model_only_rate"])


def test_prompts_are_counted_once_whatever_the_epochs() -> None:
    scores = [scored("direct_answer", "a", 1), scored("empty", "a", 1), scored("empty", "b", 2)]
    assert values(category_n(), scores) == {"n_a": 1, "n_b": 0}


def test_a_category_never_takes_the_place_of_a_metric() -> None:
    scores = [scored(1.0, "x"), scored(0.0, "x_lower"), scored(0.0, "lower")]
    found = values(category_rate(), scores)
    assert found["x_lower"] == pytest.approx(0.2065, abs=1e-4)
    assert found["category_x_lower"] == 0.0
    assert found["category_lower"] == 0.0
    counted = values(category_n(), [scored("direct_answer", "empty")])
    assert counted == {"n_category_empty": 1}
