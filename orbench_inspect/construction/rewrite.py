"""Stage 2, rewrite: harmless requests that sound alarming, several from each seed in one call."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inspect_ai import Task, task

from orbench_inspect.as_data import as_data
from orbench_inspect.construction.config import Config
from orbench_inspect.construction.contamination import published
from orbench_inspect.construction.dedup import Exact, Near
from orbench_inspect.construction.generating import generated, generator_stage
from orbench_inspect.construction.stage import read_folder
from orbench_inspect.construction.trail import Dropped, Item, given


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
    settings = config.rewrites
    return generator_stage("rewrite", out, shard, config, settings, per_seed=settings.per_seed)


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
    for found in generated(out, "rewrite"):
        if isinstance(found, Dropped):
            yield found
            continue
        seed, text = found.asked, found.text
        id, reason, like = f"{seed.id}.{found.number}", "", None
        if not seen.add(text):
            reason = "duplicate"
        elif set_name := in_set(text):
            reason = f"published_{set_name}"
        elif near is not None and (like := near.add(id, text)):
            reason = "near_duplicate"
        if reason:
            yield Dropped("rewrite", id, reason, text, found.log, like or "")
        else:
            ancestry = {**seed.ancestry, "seed_id": seed.id, "rewrite_log": found.log}
            yield Item(id, text, seed.category, ancestry)
