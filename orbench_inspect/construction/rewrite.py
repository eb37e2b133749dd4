"""Stage 2, rewrite: harmless requests that sound alarming, several from each seed in one call."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inspect_ai import Task, task

from orbench_inspect.as_data import as_data
from orbench_inspect.construction.config import Config
from orbench_inspect.construction.contamination import published
from orbench_inspect.construction.dedup import Exact, Near
from orbench_inspect.construction.generating import (
    generate_items,
    generator_prompt,
    items,
    kept_and_rejected,
)
from orbench_inspect.construction.stage import read_folder, stage_task
from orbench_inspect.construction.trail import Dropped, Item, finished, given


@task
def rewrite(out: str | None = None, shard: int = 1, **unknown: Any) -> Task:
    """Rewrites of seeds. One sample is one seed.

    Model roles: `generator`.

    Args:
        out: Folder of the construction.
        shard: Number of the shard.
        **unknown: Anything else is an error.
    """
    out, config = read_folder(out, unknown)
    system = generator_prompt(config, "rewrite")
    settings = config.rewrites
    structured = config.models.generator.returns_json
    return stage_task(
        "rewrite",
        out,
        shard,
        items(settings.per_seed),
        {"system": system, "per_seed": settings.per_seed, "structured": structured},
        generate_items(out, system, settings.temperature, settings.max_tokens, structured),
    )


def rewrite_inputs(config: Config, seeds: Iterator[Item]) -> Iterator[Item]:
    """What the generator is sent for each seed."""
    for seed in seeds:
        text = f"{as_data(harmful=seed.text)}\n\nNumber of new requests: {config.rewrites.per_seed}"
        yield Item(seed.id, text, seed.category, {**seed.ancestry, "seed": seed.text})


def made_rewrites(config: Config, out: Path) -> Iterator[Item | Dropped]:
    """The rewrites, in order, without duplicates and published prompts; and what was dropped.

    Reasons are those of `items.fault`, `duplicate` (equal to a seed or an earlier rewrite),
    `published_SET`, and `near_duplicate`.
    """
    seen = Exact()
    for item in given(out, "rewrite"):
        seen.add(item.ancestry["seed"])
    near = Near(config.near_duplicates) if config.near_duplicates else None
    in_set = published(config.published)
    for done in finished(out, "rewrite"):
        seed = done.item
        if done.result is None:
            yield Dropped("rewrite", seed.id, "failed", "", done.log)
            continue
        kept, rejects = kept_and_rejected(done.result)
        for reject in rejects:
            yield Dropped("rewrite", seed.id, reject.reason, reject.text, done.log)
        for number, text in enumerate(kept, 1):
            id, reason, like = f"{seed.id}.{number}", "", None
            if not seen.add(text):
                reason = "duplicate"
            elif set_name := in_set(text):
                reason = f"published_{set_name}"
            elif near is not None and (like := near.add(id, text)):
                reason = "near_duplicate"
            if reason:
                yield Dropped("rewrite", id, reason, text, done.log, like or "")
            else:
                ancestry = {**seed.ancestry, "seed_id": seed.id, "rewrite_log": done.log}
                yield Item(id, text, seed.category, ancestry)
