"""What a judge made of a response, whatever became the outcome, and whether it left it open."""

from inspect_ai.scorer import Score

from orbench_inspect.scoring.words import CAUSES, VERDICTS

TIED = "tied"
"""A panel whose members all gave a verdict, none of them with a majority."""


def judge_said(score: Score | None) -> str | None:
    """The word of the judge: a verdict, a cause, or `tied`; None where it was not asked.

    Where certain rules or a block decided, it is what the judge said besides.

    Args:
        score: A score of `refusal`.
    """
    told = (score.metadata or {}) if score else {}
    by_rules = told.get("decided_by") == "rules" and "audit_outcome" not in told
    if score is None or "judge" not in told or by_rules:
        return None
    said = told.get("audit_outcome", told.get("verdict_before_block", score.answer))
    votes = told.get("votes")
    if said == "unresolved" and isinstance(votes, list):
        return TIED if all(v.rpartition(": ")[2] in VERDICTS for v in votes) else said
    return str(said)


def left_open(score: Score | None) -> bool:
    """Whether the judge failed where it was asked, so that asking again may bring a verdict.

    A tie is no failure: the same panel would tie again.
    """
    return CAUSES.get(judge_said(score) or "") == "grader_failed"
