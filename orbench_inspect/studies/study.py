"""A study: arms x models x {hard, toxic} in one log directory, resumable.

Every arm is asked the same prompts in the same order and scored by the same judge.
"""

import os
from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from logging import getLogger
from pathlib import Path
from typing import Any, cast

import click
from inspect_ai import Task, eval_set
from inspect_ai.log import EvalLog
from inspect_ai.model import BatchConfig, GenerateConfig, Model
from rich.text import Text

from orbench_inspect.budget import SPENT, Budget, held
from orbench_inspect.mitigations import load_mitigation
from orbench_inspect.prices import read_prices
from orbench_inspect.studies.capture import SELECTION
from orbench_inspect.studies.judge_again import judges_of
from orbench_inspect.studies.progress import of_another_study
from orbench_inspect.tasks import hard, toxic
from orbench_inspect.usage import usage_errors

logger = getLogger(__name__)


@dataclass(frozen=True)
class Arm:
    """A mitigation as a study runs it."""

    mitigation: str
    replicate: int = 1
    """Tells independent repetitions of the same mitigation apart."""


NOISE_FLOOR = Arm("none", replicate=2)
"""A second, independent baseline: what a difference looks like where nothing differs."""

SIX_ARMS = tuple(
    map(
        Arm,
        (
            *("none", "placebo", "helpful_minimal"),
            *("safety_preamble", "helpful_first", "ignore_alarming_words"),
        ),
    )
)


def run_study(
    models: Sequence[str] | Sequence[Model],
    grader: str | Model | None,
    log_dir: str,
    arms: Sequence[Arm] = (*SIX_ARMS, NOISE_FLOOR),
    n_hard: int | None = None,
    n_toxic: int | None = None,
    task_options: dict[str, Any] | None = None,
    **eval_options: Any,
) -> tuple[bool, list[EvalLog]]:
    """Run a study, or what is left of it.

    What was finished in `log_dir` is not asked again. An arm whose mitigation, system
    prompt, prompts or judge prompt have changed since is another arm: Inspect refuses to
    mix it with the old ones.

    Args:
        models: The evaluated models.
        grader: The judge, in any form that `--model-role grader=…` takes; None to score by the
            matcher.
        log_dir: Directory of this study alone.
        arms: The arms.
        n_hard: Ask this many hard prompts, the first in order; None for all.
        n_toxic: Ask this many toxic prompts; None for all.
        task_options: Further options of the tasks, such as `system_prompt` or `source`.
        **eval_options: Further options of `run_tasks` (`batch`, `budget`, `prices`) and of
            Inspect's `eval_set`, such as `max_tokens`.

    Returns:
        Whether all arms are complete, and their logs.

    Raises:
        UsageError: If two arms are the same, an option is wrong, or the directory holds
            logs of another study.
    """
    with usage_errors():
        names = Counter((load_mitigation(arm.mitigation).id, arm.replicate) for arm in arms)
    twice = [name for (name, _), times in names.items() if times > 1]
    if twice:
        raise click.UsageError(
            f"two arms are called '{twice[0]}'; give files ids of their own, and repetitions "
            "different replicates"
        )
    shared = {**(task_options or {}), "scorer": "judge" if grader is not None else "matcher"}
    tasks: list[Task] = []
    for arm in arms:
        own = {**shared, "mitigation": arm.mitigation, "replicate": arm.replicate}
        tasks += [hard(first=n_hard, **own), toxic(first=n_toxic, **own)]
    return run_tasks(tasks, models, grader, log_dir, **eval_options)


def run_tasks(
    tasks: list[Task],
    models: Sequence[str] | Sequence[Model],
    grader: str | Model | None,
    log_dir: str,
    batch: int | BatchConfig | None = None,
    budget: float | None = None,
    prices: str | Path | None = None,
    **eval_options: Any,
) -> tuple[bool, list[EvalLog]]:
    """Run tasks in a directory of their own, or what is left of them.

    Args:
        tasks: The tasks.
        models: The evaluated models.
        grader: The judge; None where there is none.
        log_dir: Directory of these tasks alone.
        batch: Requests in a batch of models and of the judge, or more than that; a judge's own
            setting comes first.
        budget: Dollars that all runs in the directory may cost together; needs prices.
        prices: File of prices, in the format of Inspect's `model_cost_config`; models that
            Inspect does not know may be in it.
        **eval_options: Further options of Inspect's `eval_set`.

    Returns:
        Whether all tasks came to their end, and their logs.

    Raises:
        UsageError: If the directory holds logs of other tasks, a model or the judge cannot be
            made, or the prices cannot be read.
    """
    if batch:
        if isinstance(batch, int):
            batch = BatchConfig(size=batch, max_size=batch)
        # A batch takes hours: what could be in it should not wait for the next.
        eval_options.setdefault("max_tasks", len(tasks) * len(models))
    roles = {"grader": _judges(grader, batch)} if grader is not None else None
    with usage_errors():
        known = read_prices(Path(prices)) if prices is not None else {}
        limit = Budget(budget, log_dir, known)
        if uncounted := limit.uncounted():
            logger.warning(uncounted)
        holding = held(limit)
    try:
        with holding:
            done, logs = eval_set(
                tasks,
                log_dir=log_dir,
                retry_attempts=eval_options.pop("retry_attempts", 1),
                model=cast("list[str] | list[Model]", list(models)),
                model_roles=roles,
                batch=batch,
                **eval_options,
            )
    except Exception as ex:
        # A key that is missing, a provider that there is not.
        wrong = type(ex).__name__ == "PrerequisiteError" or "not recognized" in str(ex)
        if not wrong:
            raise
        if "not associated with a task" not in str(ex):
            told = Text.from_markup(str(ex)).plain.removeprefix("ERROR: ")
            raise click.UsageError(told) from ex
        raise click.UsageError(of_another_study(log_dir)) from ex
    # Interrupted, Inspect calls what it has begun complete. A worker of a launch has one task.
    expected = 1 if SELECTION in os.environ else len(tasks) * len(models)
    ended = [log for log in logs if log.status == "success"]
    return done and len(ended) == len(logs) == expected, logs


def _judges(grader: str | Model, batch: int | BatchConfig | None) -> list[Model]:
    with usage_errors():
        judges = [copy(grader)] if isinstance(grader, Model) else judges_of(grader)
    for judge in judges:
        judge.config = GenerateConfig(batch=batch).merge(judge.config)
    return judges


def told_of(done: bool, logs: Sequence[EvalLog], log_dir: str) -> str:
    """Say how a study ended, with the first line of each error."""
    complete = "Complete" if done else "Not complete; the same command asks what is missing"
    state, errors = f"{complete}: {log_dir}", set[str]()
    for log in logs:
        if log.error is None or not log.error.message:
            continue
        message = log.error.message.splitlines()[0]
        if message.startswith(SPENT):
            state = f"Not complete: {message}"
        else:
            errors.add(f"  {log.eval.model}, {log.eval.task}: {message}")
    return "\n".join([state, *sorted(errors)])
