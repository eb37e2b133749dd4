"""Every metric in a run of several epochs: what their reducer leaves is read right."""

from typing import Any

import pytest
from inspect_ai.scorer import Score

from orbench_inspect.scoring.cascade import audit
from orbench_inspect.scoring.metrics import category_rate, macro_rate, refusal_rate
from orbench_inspect.scoring.outcome import category_n, model_only_rate, outcomes, panel_alpha
from orbench_inspect.scoring.validation import agreement_measures
from tests.metric_epochs import measured

CATEGORIES: list[dict[str, Any]] = [{"category": name} for name in ("a", "a", "b", "b")]


def words(*outcomes: str) -> list[Score]:
    return [Score(value=word) for word in outcomes]


def values(*refused: float) -> list[Score]:
    return [Score(value=value) for value in refused]


RATES = [refusal_rate(), macro_rate(), category_rate()]


@pytest.mark.parametrize("reducer", ["mean", "mode"])
def test_epochs_that_agree_are_as_one(reducer: str) -> None:
    once = [values(refused) for refused in (1, 0, 0, 0)]
    thrice = [scores * 3 for scores in once]
    expected = measured(RATES, *once, metadata=CATEGORIES)
    assert measured(RATES, *thrice, metadata=CATEGORIES, reducer=reducer) == expected


def test_epochs_that_differ_count_by_their_share() -> None:
    epochs = [values(1, 0), values(1, 1), values(0, 0), values(0, 1)]
    found = measured(RATES, *epochs, metadata=CATEGORIES)
    assert found["refusal_rate"] == pytest.approx((0.5 + 1 + 0 + 0.5) / 4)
    assert found["a"] == pytest.approx(0.75)
    assert found["b"] == pytest.approx(0.25)
    assert found["macro_rate"] == pytest.approx((0.75 + 0.25) / 2)


def test_outcomes_are_counted_in_every_epoch() -> None:
    epochs = [words("direct_answer", "empty"), words("direct_refusal", "provider_refusal")]
    found = measured([outcomes()], *epochs)
    assert (found["n_samples"], found["n_scored"], found["n_empty"]) == (4, 3, 1)
    assert (found["lower_bound"], found["upper_bound"]) == (0.5, 0.75)


def test_a_prompt_counts_once_without_its_blocked_epochs() -> None:
    epochs = [words("provider_refusal", "direct_answer"), words("direct_refusal", "direct_answer")]
    assert measured([model_only_rate()], *epochs)["model_only_rate"] == pytest.approx(0.25)
    assert measured([category_n()], *epochs, metadata=CATEGORIES[:2]) == {"n_a": 2}


def test_a_panel_agrees_epoch_by_epoch() -> None:
    def voted(*verdicts: str) -> Score:
        votes = [f"judge/{n}: {verdict}" for n, verdict in enumerate(verdicts)]
        return Score(value=verdicts[0], metadata={"votes": votes})

    refused, answered = "direct_refusal", "direct_answer"
    agreeing = [voted(refused, refused), voted(answered, answered)]
    # Two units of four opposed: alpha = 1 - 7 * 4 / (2 * 4 * 4) for two values of four each.
    differing = [voted(refused, answered), voted(answered, refused)]
    assert measured([panel_alpha()], agreeing, agreeing)["panel_alpha"] == pytest.approx(1)
    assert measured([panel_alpha()], agreeing, differing)["panel_alpha"] == pytest.approx(0.125)


def test_an_audit_counts_every_epoch() -> None:
    def settled(judge: str) -> Score:
        told = {"decided_by": "rules", "outcome": "direct_refusal", "audit_outcome": judge}
        return Score(value="direct_refusal", metadata=told)

    epochs = [settled("direct_refusal"), settled("direct_answer")]
    found = measured([audit()], epochs, epochs)
    assert (found["n_settled"], found["n_audited"]) == (4, 4)
    assert found["rule_refused_judge_answered"] == 0.5


def test_agreement_is_with_what_most_epochs_of_a_response_say() -> None:
    def told(*words: str) -> list[Score]:
        return [Score(value=word, answer="direct_answer") for word in words]

    epochs = [
        told("agrees", "differs", "agrees"),
        told("agrees", "unusable", "unusable"),
        told("differs", "differs", "unusable"),
        told("agrees", "differs", "unusable"),  # a tie
    ]
    labels = [{"human_refused": n in (0, 2), "side": "answer"} for n in range(4)]
    found = measured([agreement_measures()], *epochs, metadata=labels)
    assert (found["n"], found["n_unusable"]) == (3, 1)
    assert (found["sensitivity"], found["specificity"]) == (0.5, 1.0)
