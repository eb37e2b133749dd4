"""What all stages share: a task over a shard's samples, and calls that a kill does not repeat."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    CachePolicy,
    ChatMessage,
    GenerateConfig,
    Model,
    ModelOutput,
)
from inspect_ai.scorer import Scorer
from inspect_ai.solver import Solver
from inspect_ai.viewer import ViewerConfig

from orbench_inspect.construction.config import Config, load_config
from orbench_inspect.construction.trail import read_shard, shard_file
from orbench_inspect.scoring.judge import bound_models
from orbench_inspect.usage import usage_errors

STAGE_VERSION = 1
"""Rises with whatever changes what a stage does with the same texts and parameters."""

CONFIG_FILE = "config.yaml"
SET_ID_FILE = "set_id"

# Inspect would retry a model that is down for ever.
_RETRIES = GenerateConfig(max_retries=6)


def read_folder(out: str | None, unknown: Mapping[str, Any]) -> tuple[str, Config]:
    """The folder of a construction, and its configuration.

    Args:
        out: The folder, as given with `-T out=`.
        unknown: Options that a stage does not have.

    Raises:
        UsageError: If the folder is missing or holds no construction, or an option is unknown.
    """
    if unknown:
        raise click.UsageError(f"unknown option {', '.join(unknown)}; known: out, shard")
    if not out:
        raise click.UsageError(
            "-T out= is required: the folder of a construction, which `orbench construct` makes"
        )
    with usage_errors():
        return out, load_config(Path(out) / CONFIG_FILE)


def stage_task(
    stage: str,
    out: str,
    shard: int,
    scorer: Scorer,
    told: dict[str, Any],
    solver: Solver | None = None,
) -> Task:
    """The task of one stage on one shard.

    Args:
        stage: The stage's name.
        out: Folder of the construction.
        shard: Number of the shard.
        scorer: Its score's metadata is the stage's result.
        told: Texts and parameters that decide the result; their hash is in the version.
        solver: What produces a sample's output; None where the scorer asks all models.

    Raises:
        UsageError: If the shard's samples are not there.
    """
    with usage_errors():
        items, inputs = read_shard(shard_file(Path(out), stage, shard))
    digest = sha256(repr((sorted(told.items()), inputs)).encode()).hexdigest()
    return Task(
        dataset=MemoryDataset(
            [
                Sample(
                    input=item.text,
                    id=item.id,
                    metadata={"category": item.category, **item.ancestry},
                )
                for item in items
            ],
            name=stage,
        ),
        solver=solver or [],
        scorer=scorer,
        # Up to one in twenty may fail for good and is counted; more stops the stage, and the
        # next start asks those again.
        fail_on_error=0.05,
        continue_on_fail=True,
        version=f"{STAGE_VERSION}+{digest[:12]}",
        metadata={
            # Not `orbench`: no run to be compared.
            "construction": {
                "package": version("orbench-inspect"),
                "stage": stage,
                "shard": shard,
                "inputs_sha256": inputs,
                **told,
            }
        },
        viewer=ViewerConfig(trust_content=False),
    )


def bound(role: str) -> list[Model]:
    """The models bound to a role.

    Raises:
        ValueError: If there is none.
    """
    models = bound_models(role)
    if not models:
        raise ValueError(f"no model is bound to {role}: add --model-role {role}=PROVIDER/MODEL")
    return models


def cached(out: str, **scopes: str) -> CachePolicy:
    """A cache of this construction's calls: a kill repeats none that was answered.

    Args:
        out: Folder of the construction, whose id keeps its calls apart from all others.
        **scopes: What tells equal calls apart that must not share an answer.
    """
    id = (Path(out) / SET_ID_FILE).read_text(encoding="ascii")
    return CachePolicy(expiry="4W", per_epoch=False, scopes={"construction": id, **scopes})


async def ask(
    model: Model, messages: Sequence[ChatMessage], config: GenerateConfig, cache: CachePolicy
) -> ModelOutput:
    """Ask a model; settings of its own come before the stage's."""
    merged = _RETRIES.merge(config).merge(model.config)
    return await model.generate(list(messages), config=merged, cache=cache)
