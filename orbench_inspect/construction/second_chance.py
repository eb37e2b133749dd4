"""Stage 4, second chance: what was voted toxic is answered, and the answer is moderated instead."""

from collections.abc import Iterator
from typing import Any

from inspect_ai import Task, task
from inspect_ai.model import ChatMessageUser, GenerateConfig
from inspect_ai.solver import Generate, Solver, TaskState, solver

from orbench_inspect.construction.moderate import (
    decide,
    is_seed,
    moderation_told,
    moderator_prompt,
    usable_votes,
    votes,
)
from orbench_inspect.construction.stage import ask, bound, cached, read_folder, stage_task
from orbench_inspect.construction.trail import Done, Item


@task
def second_chance(out: str | None = None, shard: int = 1, **unknown: Any) -> Task:
    """Votes on answers to prompts that were voted toxic. One sample is one prompt.

    A safe answer makes its prompt safe: the moderators were wrong about what it leads to.

    Model roles: `answerer`, which has no safety layer; `moderator`, several.

    Args:
        out: Folder of the construction.
        shard: Number of the shard.
        **unknown: Anything else is an error.
    """
    out, config = read_folder(out, unknown)
    prompt = moderator_prompt(config, "moderate_answer")
    settings = config.moderation
    scorer = votes(
        out, prompt, list(config.categories), settings.temperature, settings.max_tokens, True
    )
    chance = config.second_chance
    return stage_task(
        "second_chance",
        out,
        shard,
        scorer,
        moderation_told(config, prompt),
        answer(out, chance.temperature, chance.max_tokens),
    )


@solver
def answer(out: str, temperature: float, max_tokens: int) -> Solver:
    """The prompt, answered by the model bound to `answerer`.

    Args:
        out: Folder of the construction.
        temperature: Temperature of the answer.
        max_tokens: Tokens of the answer.
    """
    settings = GenerateConfig(temperature=temperature, max_tokens=max_tokens)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        messages = [ChatMessageUser(content=state.input_text)]
        state.output = await ask(bound("answerer")[0], messages, settings, cached(out))
        if state.output.choices:
            state.messages.append(state.output.message)
        return state

    return solve


def second_chance_inputs(moderated: Iterator[Done]) -> Iterator[Item]:
    """The rewrites that were voted toxic."""
    return (done.item for done in moderated if gets_second_chance(done))


def gets_second_chance(done: Done) -> bool:
    """Whether a moderated prompt is answered: rewrites voted toxic are."""
    if done.result is None or is_seed(done.item):
        return False
    return decide(usable_votes(done.result)) == "toxic"
