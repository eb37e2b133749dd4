"""The options of the tasks, checked: a mistyped one stops the run instead of being ignored."""

from difflib import get_close_matches
from typing import Annotated, Any, Literal, Self, TypeVar

import click
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from orbench_inspect.k_of_n import k_of_n
from orbench_inspect.mitigations import SystemAs
from orbench_inspect.scoring.labels import Partial
from orbench_inspect.scoring.refusal import By
from orbench_inspect.usage import rejoined


def _listed(value: object) -> object:
    """One name, or several; names may look like numbers."""
    items = value if isinstance(value, list | tuple) else [value]
    return None if value is None else [rejoined(item) for item in items]


def _shard(value: object) -> object:
    if value is None:
        return None
    found = k_of_n(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("Which of how many shards, such as 3/10")
    return found


Text = Annotated[str, BeforeValidator(rejoined)]


class Options(BaseModel):
    """What can be set with `-T` on every task."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    mitigation: Text = "none"
    system_prompt: Text | None = None
    system_as: SystemAs = "system"
    replicate: Annotated[int, Field(ge=1)] = 1
    scorer: By = "judge"
    judge_prompt: Text = "strict"
    categories: Annotated[list[str], BeforeValidator(_listed)] | None = None
    per_category: Annotated[int, Field(ge=1)] | None = None
    seed: int = 42
    first: Annotated[int, Field(ge=1)] | None = None
    shard: Annotated[tuple[int, int] | None, BeforeValidator(_shard)] = None
    exclude: Text | None = None
    audit: Annotated[float, Field(ge=0, le=1)] | None = None
    allow_self_judge: bool = False

    @model_validator(mode="after")
    def _prompt_for_a_judge(self) -> Self:
        if self.scorer == "matcher" and self.judge_prompt != "strict":
            raise ValueError("-T judge_prompt= goes with scorer=judge: the matcher asks no judge")
        if self.audit is not None and self.scorer != "cascade":
            raise ValueError("-T audit= goes with scorer=cascade: nothing else settles by rules")
        return self


class PublishedOptions(Options):
    """What can be set for a published set."""

    source: Text = "hub"
    allow_unpinned: bool = False


class FullOptions(PublishedOptions):
    """What can be set for the full set, which does not start by accident."""

    all: bool = False

    @model_validator(mode="after")
    def _not_by_accident(self) -> Self:
        if not self.all and self.per_category is None:
            raise ValueError(
                "the full set is 80,359 model calls, and as many to a judge: say so with "
                "-T all=true, or take a part of it with -T per_category=N"
            )
        return self


class CustomOptions(Options):
    """What can be set for a person's own prompts."""

    file: Text
    wanted: Literal["answer", "refuse"]


class ValidationOptions(BaseModel):
    """What can be set for the validation of a judge."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    labels: Annotated[list[str], BeforeValidator(_listed)]
    partial: Partial = "refused"
    judge_prompt: Text = "strict"
    seed: int = 42
    first: Annotated[int, Field(ge=1)] | None = None


T = TypeVar("T", bound=BaseModel)


def check(kind: type[T], given: dict[str, Any]) -> T:
    """Check what a task was given.

    Args:
        kind: The task's options.
        given: Its arguments; those it does not know stand under `unknown`.

    Raises:
        click.UsageError: Naming each option that is unknown, missing or has a wrong value.
    """
    known = ", ".join(kind.model_fields)
    problems = []
    for name in given.pop("unknown", {}):
        near = get_close_matches(name, kind.model_fields, 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        problems.append(f"unknown option -T {name}{hint}; known: {known}")
    try:
        options = kind.model_validate(given)
    except ValidationError as ex:
        problems += [_problem(error) for error in ex.errors()]
    if problems:
        raise click.UsageError("\n".join(problems))
    return options


def _problem(error: Any) -> str:
    message = error["msg"].removeprefix("Value error, ")
    if not error["loc"]:
        return str(message)
    name, value = error["loc"][0], error["input"]
    if value is None:
        return f"-T {name}= is required ({message})"
    return f"-T {name}={value}: {message[0].lower()}{message[1:]}"
