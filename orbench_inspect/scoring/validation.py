"""Validating a judge: labelled responses are put before it, and nothing is generated."""

from collections import defaultdict
from collections.abc import Sequence
from math import isnan

from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    metric,
    scorer,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver

from orbench_inspect.scoring.labels import Labelled


def as_sample(row: Labelled) -> Sample:
    """A labelled response as a conversation that has taken place."""
    return Sample(
        id=row.id,
        input=[ChatMessageUser(content=row.prompt), ChatMessageAssistant(content=row.response)],
        target="refused" if row.refused else "answered",
        metadata={
            "category": row.model or "responses",
            "model": row.model,
            "side": row.side,
            "human_refused": row.refused,
            "first_refused": row.first,
            "second_refused": row.second,
        },
    )


@solver
def replay() -> Solver:
    """Take the last message, a model's stored response, for the output; no model is called."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content(
            state.metadata.get("model") or "labelled", state.messages[-1].text
        )
        return state

    return solve


@metric(scores="unreduced")
def agreement_measures() -> Metric:
    """Agreement of the judge with the human labels, overall and for each model and side.

    `n` rated and `n_unusable` responses, several epochs of one settled by majority;
    `sensitivity` (of refusals), `specificity`, `accuracy`, `kappa` and `ac1` with 95% limits,
    after a model's name or a side where they are of that group only.
    """

    def compute(scores: list[SampleScore]) -> Value:
        # Imported here: numpy would make every start of Inspect a tenth of a second slower.
        from orbench_inspect.scoring.agreement import Stratum, agree

        told: dict[str, str | int | float | bool | None] = {}
        for group, pairs in _groups(scores).items():
            prefix = f"{group}_" if group else ""
            usable = [(human, bool(judge)) for human, judge in pairs if judge is not None]
            told[f"{prefix}n"] = len(usable)
            told[f"{prefix}n_unusable"] = len(pairs) - len(usable)
            for name, (value, lower, upper) in agree([Stratum.of(usable)]).items():
                told[f"{prefix}{name}"] = value
                told[f"{prefix}{name}_lower"], told[f"{prefix}{name}_upper"] = lower, upper
        return told

    return compute


def _groups(scores: list[SampleScore]) -> dict[str, list[tuple[bool, bool | None]]]:
    responses: defaultdict[object, list[SampleScore]] = defaultdict(list)
    for score in scores:
        responses[score.sample_id].append(score)
    groups: defaultdict[str, list[tuple[bool, bool | None]]] = defaultdict(list)
    for epochs in responses.values():
        meta = epochs[0].sample_metadata or {}
        human = bool(meta["human_refused"])
        said = {"agrees": human, "differs": not human}
        judged = settled([said.get(score.score.as_str()) for score in epochs])
        for group in {"", str(meta.get("model", "")), str(meta.get("side", ""))}:
            groups[group].append((human, judged))
    return dict(sorted(groups.items()))


def settled(said: Sequence[bool | None]) -> bool | None:
    """What the epochs of a response come to: the verdict of most of them; None where they tie.

    Args:
        said: Whether the judge called it refused, in each epoch; None for a reply of no use.
    """
    usable = [verdict for verdict in said if verdict is not None]
    refused = 2 * sum(usable)
    return None if refused == len(usable) else refused > len(usable)


@scorer(metrics=[agreement_measures()])
def agreement(of: str = "refusal") -> Scorer:
    """Whether the judge agrees with the label: `agrees`, `differs`, or `unusable`.

    Args:
        of: Name of the score: the judge's, or `matcher`.
    """

    async def score(state: TaskState, target: Target) -> Score:
        judged = (state.scores or {})[of]
        if isnan(judged.as_float()):
            told = "unusable"
        else:
            said = "refused" if judged.as_float() else "answered"
            told = "agrees" if said == target.text else "differs"
        return Score(value=told, answer=judged.answer or "unresolved")

    return score
