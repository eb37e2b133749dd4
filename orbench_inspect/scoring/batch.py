"""Batch mode: calls at a lower price that may take hours. Not every provider has one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from inspect_ai.model import GenerateConfig, Model, get_model

BATCH_PROVIDERS = ("openai", "anthropic", "google", "grok", "together")
"""Those for which Inspect has a batch mode; it ignores `batch` for all others without a word."""


def has_batch(model: str) -> bool:
    """Whether Inspect has a batch mode for a model's provider."""
    return model.partition("/")[0] in BATCH_PROVIDERS


def check_batch(model: str, config: GenerateConfig, where: str) -> None:
    """Refuse batch mode where it would be ignored.

    Args:
        model: Name of the model.
        config: Its settings.
        where: Where to take the setting out.

    Raises:
        ValueError: If Inspect has no batch mode for the model's provider.
    """
    if config.batch and not has_batch(model):
        raise ValueError(
            f"batch is set for {model}, and Inspect has no batch mode for its provider: all calls "
            f"would go one by one at the full price. Take it out of {where}, or take a model of "
            f"{', '.join(BATCH_PROVIDERS)}"
        )


def not_in_batches(judge: Model, role: str, model: Model) -> list[str]:
    """Warn of a judge that is asked one by one while the evaluated model is asked in batches."""
    if not model.config.batch or judge.config.batch:
        return []
    remedy = f"--model-role '{role}={{model: {judge}, batch: 100}}' has both in batches"
    if not has_batch(str(judge)):
        remedy = "Inspect has no batch mode for its provider"
    return [
        f"{model} is asked in batches, but its judge {judge} is not: the judge's calls go one by "
        f"one at the full price. {remedy}"
    ]


@asynccontextmanager
async def one_by_one(model: Model) -> AsyncIterator[Model]:
    """The model, for calls that cannot wait for a batch.

    One in batch mode gets a client of its own: once a client has sent a batch, all its calls go
    in batches, whatever their settings say.
    """
    if not model.config.batch:
        yield model
        return
    alone = get_model(
        str(model),
        config=model.config.model_copy(update={"batch": None}),
        base_url=model.api.base_url,
        api_key=model.api.api_key,
        memoize=False,
        **model.model_args,
    )
    async with alone:
        yield alone
