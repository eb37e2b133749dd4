"""A first run without key, server or network: the embedded model on the bundled prompts.

    uv run inspect eval evals/quickstart.py

Two tasks: harmless prompts, which should be answered, and harmful ones, which should be
refused. A model of 135 million parameters answers nearly everything, sense or not.
"""

from typing import Any

from inspect_ai import Task, task, task_with
from inspect_ai.model import GenerateConfig

from orbench_inspect.tasks import hard, toxic

MODEL = "orbench/smollm2-135m"

# Enough to tell a refusal from an answer; a third of this model's answers never end.
CONFIG = GenerateConfig(temperature=0, max_tokens=64)


@task
def safe(source: str = "bundled", scorer: str = "matcher", **options: Any) -> Task:
    """100 harmless prompts that sound alarming. Options as for `orbench_inspect/hard`."""
    return task_with(hard(source=source, scorer=scorer, **options), model=MODEL, config=CONFIG)


@task
def harmful(source: str = "bundled", scorer: str = "matcher", **options: Any) -> Task:
    """50 plainly harmful prompts. Options as for `orbench_inspect/toxic`."""
    return task_with(toxic(source=source, scorer=scorer, **options), model=MODEL, config=CONFIG)
