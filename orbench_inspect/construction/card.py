"""The data card of a constructed set: what it holds, how it was made, and what to doubt."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isnan

from orbench_inspect.construction.dedup import SHINGLE
from orbench_inspect.construction.diversity import SAMPLE
from orbench_inspect.construction.facts import SETS, STATED, Facts
from orbench_inspect.scoring.words import REFUSALS, SCORED

_PAPER_SELF_BLEU = "0.31 to 0.44"
_PAPER_AGREEMENT = "82 to 83%"


def card(facts: Facts, canary: str, tokens: Mapping[str, tuple[int, int]]) -> str:
    """The card, as Markdown.

    Args:
        facts: What was counted.
        canary: The line that asks not to be trained on.
        tokens: Input and output tokens by model.
    """
    config = facts.config
    sizes = ", ".join(f"{name} {facts.in_set[name].total():,}" for name in SETS)
    parts = [
        "# A constructed over-refusal set",
        canary,
        f"Made by `orbench construct` after the method of OR-Bench (ICML 2025): {sizes}. Those of "
        "safe and hard should be answered, those of toxic refused; hard is a part of safe: never "
        "pool the two. Models wrote, voted on and selected every prompt, and no human has looked "
        "at them: audit a sample before you publish a number. The prompts sound harmful by "
        "design, and those of toxic are.",
        "\n".join(f"- **{warning}**" for warning in facts.warnings()),
        "## Prompts by category",
        _table(
            ("category", *SETS),
            [(name, *(facts.in_set[s][name] for s in SETS)) for name in config.categories],
        ),
        "## From seeds to prompts",
        _table(("stage", "what", "texts"), _flow(facts)),
        "A text without a strict majority of all moderators' votes is undecided and in no set. "
        "What left in the first two stages is in `rejects.jsonl`, text and reason; what happened "
        "to every moderated prompt is in `trail.parquet`.",
        "## Moderators",
        _moderators(facts),
        "## Selectors",
        f"Hard are safe prompts refused by at least {config.hard.refused_by} of "
        f"{len(config.models.selectors)} selectors, scored by {_scored_by(facts)}. An unscored "
        "response is no refusal. Refusal rates here are of the safe prompts that were asked.",
        _table(
            ("selector", "refused", "scored", "refusal rate [95% CI]", "unscored"),
            [_selector(name, found) for name, found in facts.outcomes.items()],
        ),
        _table(
            ("refused by", "prompts"),
            [(f"{n} selectors", facts.refused_by[n]) for n in sorted(facts.refused_by)],
        ),
        "## Diversity",
        _diversity(facts),
        "## Models",
        _table(
            ("role", "model"),
            [(role, spec.model) for role, specs in config.roles.items() for spec in specs],
        ),
        _table(
            ("model", "input tokens", "output tokens"),
            [(name, f"{a:,}", f"{b:,}") for name, (a, b) in sorted(tokens.items())],
        ),
        "A model that selected hard prompts looks worse on them than it is, and one that moderated "
        "has had its view of harm built in; `orbench_inspect/custom` marks both in its results. "
        "Texts and parameters, hashes of all files, and the logs: `provenance.json`.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _flow(facts: Facts) -> Iterable[Sequence[object]]:
    for stage, kept in (("seeds", "seeds kept"), ("rewrite", "rewrites kept")):
        yield stage, kept, facts.made[stage]
        for (where, reason), n in sorted(facts.rejects.items()):
            if where == stage:
                yield stage, f"{'' if '(kept)' in reason else 'dropped: '}{reason}", n
    for decision, n in sorted(facts.decisions.items()):
        yield "moderate, second_chance", f"rewrites {decision}", n
    for cause, n in sorted(facts.no_answer.items()):
        yield "second_chance", f"no answer to moderate: {cause}", n
    for decision, n in sorted(facts.seeds_voted.items()):
        yield "moderate", f"drawn seeds {decision}", n
    if facts.not_selected:
        yield "select_hard", "safe prompts whose calls failed", facts.not_selected


def _moderators(facts: Facts) -> str:
    names = [spec.model for spec in facts.config.models.moderators]
    pairs = [
        (f"{names[a]} and {names[b]}", _rate(*facts.harm.pairs[a, b]), _rate(*labels), labels[1])
        for (a, b), labels in sorted(facts.labels.pairs.items())
    ]
    unusable = [
        (name, ", ".join(f"{n} {cause}" for cause, n in sorted(causes.items())))
        for name, causes in sorted(facts.unusable.items())
    ]
    parts = [
        f"Krippendorff's alpha (nominal) of {len(names)} moderators: "
        f"{_number(facts.harm.alpha)} on harmful or not, {_number(facts.labels.alpha)} on the "
        "categories and none. Agreement in pairs, on prompts that both had a usable vote on "
        f"(the paper reports {_PAPER_AGREEMENT}):",
        _table(("moderators", "harmful or not [95% CI]", "category [95% CI]", "prompts"), pairs),
        _table(("moderator", "unusable votes"), unusable),
    ]
    return "\n\n".join(part for part in parts if part)


def _selector(name: str, found: Counter[str]) -> Sequence[object]:
    refused = sum(found[word] for word in REFUSALS)
    scored = sum(found[word] for word in SCORED)
    return name, refused, scored, _rate(refused, scored), found.total() - scored


def _diversity(facts: Facts) -> str:
    near = facts.config.near_duplicates
    at = near or STATED
    measured = [(name, _number(value)) for name, value in facts.self_bleu().items()]
    grams = ", ".join(f"distinct-{n} {_number(v)}" for n, v in facts.distinct().items())
    return (
        f"{facts.near_share:.1%} of the rewrites were in clusters of near duplicates (estimated "
        f"Jaccard similarity of {SHINGLE}-character shingles at least {at}), which were "
        f"{'reduced to their first' if near else 'kept'}. On seeded samples of at most {SAMPLE} "
        f"safe prompts a category: {grams}, and self-BLEU by category (the paper reports "
        f"{_PAPER_SELF_BLEU}, sample and smoothing unstated; it grows with the sample):\n\n"
        + _table(("category", "self-BLEU"), measured)
    )


def _scored_by(facts: Facts) -> str:
    for grader in facts.config.roles["grader"]:
        return f"the judge {grader.model} (prompt {facts.config.hard.judge_prompt})"
    return "the matcher"


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [[_cell(value) for value in row] for row in rows]
    if not lines:
        return ""
    head = [list(header), ["---"] * len(header)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (*head, *lines))


def _cell(value: object) -> str:
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")


def _rate(part: int, of: int) -> str:
    """A share with Wilson's interval."""
    from scipy.stats import binomtest

    if not of:
        return "none"
    low, high = binomtest(part, of).proportion_ci(method="wilson")
    return f"{part / of:.1%} [{100 * low:.1f}, {100 * high:.1f}]"


def _number(value: float) -> str:
    return "not defined" if isnan(value) else f"{value:.2f}"
