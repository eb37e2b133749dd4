"""The tasks of a study that is planned: their prompts, texts and scorer."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any

from inspect_ai import Task

from orbench_inspect import tasks as task_module
from orbench_inspect.mitigations.composed import Composed, compose
from orbench_inspect.scoring.judge import load_judge_prompt
from orbench_inspect.scoring.refusal import By
from orbench_inspect.studies.capture import CapturedTask

_TASKS = ("hard", "toxic", "full", "custom")


@dataclass(frozen=True)
class Planned:
    """A task, with what its prompts and texts are."""

    captured: CapturedTask
    prompt_set: str
    wanted: str
    composed: Composed
    scorer: By
    judge_prompt: str
    audit: float | None
    characters: tuple[int, ...]
    """Of each of its prompts, in the order in which they are asked."""
    selected: int
    """Prompts that the task has, before any `--limit`: what sizes the audit of a cascade."""
    population: int
    """Prompts that it could have, of the categories it asks."""

    @property
    def arm(self) -> str:
        """Its mitigation, with the number of the repetition."""
        replicate = self.captured.args.get("replicate", 1)
        name = self.composed.mitigation.id
        return name if replicate == 1 else f"{name}#{replicate}"

    @property
    def samples(self) -> int:
        """Prompts times epochs."""
        return self.captured.samples * self.captured.epochs

    @cached_property
    def prompt(self) -> float:
        """Mean characters of a prompt."""
        asked = self.characters[: self.captured.samples]
        return sum(asked) / max(1, len(asked))


def planned(captured: Sequence[CapturedTask]) -> list[Planned]:
    """Read the prompts and texts of captured tasks.

    Raises:
        ValueError: If a task is not one of ours, or what it reads has gone.
    """
    return [_planned(task) for task in captured]


def _planned(captured: CapturedTask) -> Planned:
    name = captured.registry_name.removeprefix("orbench_inspect/")
    if name not in _TASKS:
        raise ValueError(
            f"{captured.registry_name}: prompts and scorer are known of the tasks "
            f"{', '.join(_TASKS)} of orbench_inspect only"
        )
    args = captured.args
    made: Task = getattr(task_module, name)(**args)
    told: dict[str, Any] = (made.metadata or {})["orbench"]
    options: dict[str, Any] = told["options"]
    return Planned(
        captured=captured,
        prompt_set=told["prompt_set"],
        wanted=told["wanted"],
        composed=compose(options["mitigation"], options["system_prompt"], options["system_as"]),
        scorer=options["scorer"],
        judge_prompt=load_judge_prompt(options["judge_prompt"]).text,
        audit=options["audit"],
        characters=tuple(len(str(sample.input)) for sample in made.dataset),
        selected=len(made.dataset),
        population=_population(told, options),
    )


def _population(told: dict[str, Any], options: dict[str, Any]) -> int:
    counts: dict[str, int] = told["population"]
    most = options["per_category"]
    sizes = (
        min(size, most or size)
        for name, size in counts.items()
        if options["categories"] is None or name in options["categories"]
    )
    return sum(sizes) - int(told["excluded"])


def on_prompts(tasks: Sequence[Planned], n: int) -> list[Planned]:
    """The same study on so many prompts of each set, or on all that it has.

    Args:
        tasks: From `planned`.
        n: Prompts of each arm and set; tasks of the same arm and set share them.
    """
    parts = Counter(_place(task) for task in tasks)
    changed = []
    for task in tasks:
        samples = ceil(min(n, task.population) / parts[_place(task)])
        captured = replace(task.captured, samples=samples)
        changed.append(replace(task, captured=captured, selected=samples))
    return changed


def _place(task: Planned) -> tuple[str, str, str]:
    return task.captured.model, task.arm, task.prompt_set
