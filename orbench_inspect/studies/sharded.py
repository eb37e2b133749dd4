"""The full set as shards in one log directory, resumable.

What a sample costs Inspect grows with the samples of its task, so ten tasks of 8,000 cost half
of one of 80,000, hold a fifth in memory, and a lost one is a tenth.
"""

from collections.abc import Sequence
from typing import Any

from inspect_ai.log import EvalLog
from inspect_ai.model import Model

from orbench_inspect.studies.study import run_tasks
from orbench_inspect.tasks import full

FEWEST = 50
"""Prompts a shard holds on average at least: fewer, and some would be empty."""


def run_full(
    models: Sequence[str] | Sequence[Model],
    grader: str | Model | None,
    log_dir: str,
    shards: int = 10,
    limit: int | None = None,
    task_options: dict[str, Any] | None = None,
    **eval_options: Any,
) -> tuple[bool, list[EvalLog]]:
    """Run the full set in shards, or what is left of it.

    Args:
        models: The evaluated models.
        grader: The judge; None with `scorer="matcher"` among the task's options.
        log_dir: Directory of this run alone.
        shards: How many; fewer where they would hold under 50 prompts each.
        limit: Ask this many prompts, the first in order; None for all.
        task_options: Further options of the task `full`, such as `scorer` or `source`.
        **eval_options: Further options of Inspect's `eval_set`, in place of those that fit so
            many samples.

    Returns:
        Whether all shards are complete, and their logs.

    Raises:
        UsageError: If an option is wrong, or the directory holds logs of another run.
    """
    n = shards if limit is None else max(1, min(shards, limit // FEWEST))
    options = {**(task_options or {}), "all": True, "first": limit}
    tasks = [full(**options, shard=f"{k}/{n}") for k in range(1, n + 1)]
    # Events of running samples for the viewer, and metrics while it runs, cost more than the rest.
    fit = {"log_realtime": False, "score_display": False, "log_buffer": 200, "max_tasks": 1}
    return run_tasks(tasks, models, grader, log_dir, **{**fit, **eval_options})
