"""Asking the generator for items: one call, its reply read into items and rejects."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from inspect_ai import Task
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

from orbench_inspect.construction.config import Config, Rewrites, Seeds
from orbench_inspect.construction.items import Items, Reject, read_items
from orbench_inspect.construction.stage import ask, bound, cached, stage_task
from orbench_inspect.construction.trail import Dropped, Item, finished
from orbench_inspect.scoring.response import read_response


class Reply(BaseModel):
    """A reply of a provider that holds it to a schema."""

    items: list[str]


_SCHEMA = ResponseSchema(name="requests", json_schema=json_schema(Reply), strict=True)


def generator_prompt(config: Config, task: str) -> str:
    """The generator's instructions: the stage's text, and how items are to be returned."""
    form = "as_json" if config.models.generator.returns_json else "as_list"
    return f"{config.prompt(task).text}\n\n{config.prompt(form).text}"


def generator_stage(
    stage: str, out: str, shard: int, config: Config, settings: Seeds | Rewrites, **wanted: int
) -> Task:
    """The task of a stage in which the generator is asked for items.

    Args:
        stage: The stage's name, and that of its text.
        out: Folder of the construction.
        shard: Number of the shard.
        config: The configuration.
        settings: The stage's own.
        **wanted: Items asked for in a call, by the name that the log knows it by.
    """
    system, structured = generator_prompt(config, stage), config.models.generator.returns_json
    return stage_task(
        stage,
        out,
        shard,
        items(*wanted.values()),
        {"system": system, "structured": structured, **wanted},
        generate_items(out, system, settings.temperature, settings.max_tokens, structured),
    )


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


@dataclass(frozen=True)
class Generated:
    """An item that the generator wrote."""

    asked: Item
    """What it was asked with."""
    number: int
    """Its place in the reply, from 1."""
    text: str
    log: str


def generated(out: Path, stage: str, before: int | None = None) -> Iterator[Generated | Dropped]:
    """What the generator wrote in a stage, in order; and what was no item.

    Args:
        out: Folder of the construction.
        stage: The stage.
        before: Of the shards before this one; None for all.
    """
    for done in finished(out, stage, before):
        if done.result is None:
            yield Dropped(stage, done.item.id, "failed", "", done.log)
            continue
        for reason, text in done.result["rejects"]:
            yield Dropped(stage, done.item.id, reason, text, done.log)
        for number, text in enumerate(done.result["items"], 1):
            yield Generated(done.item, number, text, done.log)
