"""Stage 1, seeds: plainly harmful requests of each category, from the role `generator`."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inspect_ai import Task, task

from orbench_inspect.construction.config import Config
from orbench_inspect.construction.dedup import Exact
from orbench_inspect.construction.generating import generated, generator_stage
from orbench_inspect.construction.stage import read_folder
from orbench_inspect.construction.trail import Dropped, Item


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
    settings = config.seeds
    return generator_stage("seeds", out, shard, config, settings, per_call=settings.per_call)


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
    for found in generated(out, "seeds", before):
        if isinstance(found, Dropped):
            yield found
            continue
        call = found.asked
        if not seen.add(found.text):
            yield Dropped("seeds", call.id, "duplicate", found.text, found.log)
        elif have[call.category] == config.seeds.per_category:
            yield Dropped("seeds", call.id, "surplus", found.text, found.log)
        else:
            have[call.category] += 1
            id = f"{call.id}.{found.number:02}"
            yield Item(id, found.text, call.category, {"seed_log": found.log})
