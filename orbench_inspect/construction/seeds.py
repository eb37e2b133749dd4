"""Stage 1, seeds: plainly harmful requests of each category, from the role `generator`."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inspect_ai import Task, task

from orbench_inspect.construction.config import Config
from orbench_inspect.construction.dedup import Exact
from orbench_inspect.construction.generating import (
    generate_items,
    generator_prompt,
    items,
    kept_and_rejected,
)
from orbench_inspect.construction.stage import read_folder, stage_task
from orbench_inspect.construction.trail import Dropped, Item, finished


@task
def seeds(out: str | None = None, shard: int = 1, **unknown: Any) -> Task:
    """One round of calls for seeds. One sample is one call.

    Model roles: `generator`.

    Args:
        out: Folder of the construction.
        shard: The round.
        **unknown: Anything else is an error.
    """
    out, config = read_folder(out, unknown)
    system = generator_prompt(config, "seeds")
    settings = config.seeds
    structured = config.models.generator.returns_json
    return stage_task(
        "seeds",
        out,
        shard,
        items(settings.per_call),
        {"system": system, "per_call": settings.per_call, "structured": structured},
        generate_items(out, system, settings.temperature, settings.max_tokens, structured),
    )


def next_round(config: Config, out: Path, number: int) -> list[Item]:
    """The calls of a round: as many for each category as its missing seeds need.

    Args:
        config: The configuration.
        out: Folder of the construction; earlier rounds are finished.
        number: The round, from 1.
    """
    settings = config.seeds
    if number > settings.max_rounds:
        return []
    made = made_seeds(config, out, number)
    have = Counter(found.category for found in made if isinstance(found, Item))
    calls = []
    for category, sentence in config.categories.items():
        missing = settings.per_category - have[category]
        for call in range(1, -(-missing // settings.per_call) + 1):
            text = f"Category: {category}. {sentence}\nNumber of requests: {settings.per_call}"
            calls.append(Item(f"{category}-{number}-{call:04}", text, category))
    return calls


def made_seeds(config: Config, out: Path, before: int | None = None) -> Iterator[Item | Dropped]:
    """The seeds, in order, without equal ones; and what was dropped.

    Args:
        config: The configuration.
        out: Folder of the construction.
        before: Of the rounds before this one; None for all.
    """
    seen = Exact()
    have: Counter[str] = Counter()
    for done in finished(out, "seeds", before):
        call = done.item
        if done.result is None:
            yield Dropped("seeds", call.id, "failed", "", done.log)
            continue
        kept, rejects = kept_and_rejected(done.result)
        for reject in rejects:
            yield Dropped("seeds", call.id, reject.reason, reject.text, done.log)
        for number, text in enumerate(kept, 1):
            if not seen.add(text):
                yield Dropped("seeds", call.id, "duplicate", text, done.log)
            elif have[call.category] == config.seeds.per_category:
                yield Dropped("seeds", call.id, "surplus", text, done.log)
            else:
                have[call.category] += 1
                id = f"{call.id}.{number:02}"
                yield Item(id, text, call.category, {"seed_log": done.log})
