"""Asking the generator for items: one call, its reply read into items and rejects."""

from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ResponseSchema,
)
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import json_schema
from pydantic import BaseModel

from orbench_inspect.construction.config import Config
from orbench_inspect.construction.items import Items, Reject, read_items
from orbench_inspect.construction.stage import ask, bound, cached
from orbench_inspect.scoring.response import read_response


class Reply(BaseModel):
    """A reply of a provider that holds it to a schema."""

    items: list[str]


_SCHEMA = ResponseSchema(name="requests", json_schema=json_schema(Reply), strict=True)


def generator_prompt(config: Config, task: str) -> str:
    """The generator's instructions: the stage's text, and how items are to be returned."""
    form = "as_json" if config.models.generator.returns_json else "as_list"
    return f"{config.prompt(task).text}\n\n{config.prompt(form).text}"


@solver
def generate_items(
    out: str, system: str, temperature: float, max_tokens: int, structured: bool
) -> Solver:
    """Ask the model bound to `generator`.

    Args:
        out: Folder of the construction.
        system: Its instructions.
        temperature: Temperature of the call.
        max_tokens: Tokens of the reply.
        structured: Whether the reply is held to a schema.
    """
    settings = GenerateConfig(
        temperature=temperature,
        max_tokens=max_tokens,
        response_schema=_SCHEMA if structured else None,
    )

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        messages: list[ChatMessage] = [
            ChatMessageSystem(content=system),
            ChatMessageUser(content=state.user_prompt.text),
        ]
        # Equal calls for seeds must not share an answer.
        cache = cached(out, sample=str(state.sample_id))
        state.output = await ask(bound("generator")[0], messages, settings, cache)
        state.messages = [*messages, state.output.message]
        return state

    return solve


@scorer(metrics=[mean()])
def items(wanted: int) -> Scorer:
    """How many items the reply held; items and rejects are in the score's metadata.

    Args:
        wanted: How many were asked for; more are rejects.
    """

    async def score(state: TaskState, target: Target) -> Score:
        found = _read(state, wanted)
        return Score(
            value=len(found.kept),
            explanation="\n".join([*found.kept, *(f"{r.reason}: {r.text}" for r in found.rejects)]),
            metadata={
                "items": found.kept,
                "rejects": [[reject.reason, reject.text] for reject in found.rejects],
                "form": found.form,
            },
        )

    return score


def _read(state: TaskState, wanted: int) -> Items:
    response = read_response(state.output)
    if response.outcome is not None:
        return Items(rejects=[Reject(response.outcome, response.text)], form="none")
    found = read_items(response.text, "truncated" in response.flags)
    surplus = [Reject("surplus", text) for text in found.kept[wanted:]]
    return Items(found.kept[:wanted], [*found.rejects, *surplus], found.form)


def kept_and_rejected(result: dict[str, Any]) -> tuple[list[str], list[Reject]]:
    """A score's metadata as items and rejects."""
    return result["items"], [Reject(reason, text) for reason, text in result["rejects"]]
