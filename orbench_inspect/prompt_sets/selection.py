"""Which prompts of a set are asked, and in what order."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from operator import itemgetter
from pathlib import Path

from orbench_inspect.prompt_sets.records import Prompt, Prompts


@dataclass(frozen=True)
class Selection:
    """The prompts to ask, in order, and what was left out."""

    prompts: Sequence[Prompt]
    sha256: str
    """Hash of what is asked, in order."""
    excluded: int
    """Prompts of the set left out because a file of ids names them."""
    whole: int
    """Number of prompts that all shards ask together."""
    whole_sha256: str
    """Hash of what all shards ask together, in order."""


def select(
    prompts: Prompts,
    *,
    categories: Sequence[str] | None = None,
    per_category: int | None = None,
    seed: int = 42,
    exclude: str | None = None,
    first: int | None = None,
    shard: tuple[int, int] | None = None,
) -> Selection:
    """Choose and order the prompts of a set.

    The order is random by seed and stratified: every prefix holds each category in
    proportion, so that `--limit 50` of a file sorted by category is representative.
    It depends on ids alone, so leaving prompts out does not reorder the others.

    Args:
        prompts: The set.
        categories: Keep these categories only.
        per_category: Keep this many prompts of each category, the first in seeded order.
            Pooled over such prompts, a rate is no longer the set's: quote the macro rate.
        seed: Seed of the order.
        exclude: A file of ids to leave out, one a line; `#` begins a comment. Ids of
            other sets are allowed, so that one file serves several sets.
        first: Keep only this many, the first in order.
        shard: Of what the other arguments choose, keep the k-th of n shards. Together the n
            shards ask just what is asked without this argument.

    Raises:
        ValueError: If a category or an id is unknown, or nothing is left to ask.
    """
    if categories is not None:
        unknown = sorted(set(categories) - prompts.counts.keys())
        if unknown or not categories:
            raise ValueError(
                f"categories: {', '.join(unknown) or 'none'} not in '{prompts.name}'; "
                f"known: {', '.join(prompts.counts)}"
            )
    chosen = None if categories is None else frozenset(categories)
    excluded = _read_ids(exclude, prompts) if exclude is not None else frozenset()
    ordered, left_out = _in_order(prompts, chosen, excluded, per_category, seed)
    ordered = ordered[:first]
    if not ordered:
        raise ValueError(f"no prompt of '{prompts.name}' is left after {exclude}")
    mine = ordered if shard is None else _shard(prompts, ordered, *shard, seed)
    return Selection(mine, _hash(mine), left_out, len(ordered), _hash(ordered))


@lru_cache(maxsize=4)  # the shards of a set are parts of one order
def _in_order(
    prompts: Prompts,
    categories: frozenset[str] | None,
    excluded: frozenset[str],
    per_category: int | None,
    seed: int,
) -> tuple[Sequence[Prompt], int]:
    """The prompts in seeded order, and how many the excluded ids leave out."""
    chosen = [p for p in prompts.prompts if categories is None or p.category in categories]
    kept = [p for p in chosen if p.id not in excluded]
    return tuple(_stratified(kept, per_category, seed)), len(chosen) - len(kept)


def _shard(prompts: Prompts, ordered: Sequence[Prompt], k: int, n: int, seed: int) -> list[Prompt]:
    """Those of the prompts that are in a shard, in an order that is stratified again.

    Which shard a prompt is in depends on the set's content alone, by dealing out its prompts
    in order of category and content hash: shards differ by one prompt at most, also within
    a category, and another seed or number of prompts moves none to another shard.
    """
    members = {p.id for p in _dealt(prompts)[k - 1 :: n]}
    mine = [p for p in ordered if p.id in members]
    if not mine:
        raise ValueError(
            f"shard={k}/{n} holds none of the {len(ordered)} prompts chosen: take fewer shards"
        )
    return _stratified(mine, None, seed)


@lru_cache(maxsize=1)
def _dealt(prompts: Prompts) -> Sequence[Prompt]:
    return sorted(prompts.prompts, key=lambda p: (p.category, p.fingerprint, p.id))


def _hash(prompts: Sequence[Prompt]) -> str:
    asked = "\n".join(f"{p.id} {p.fingerprint}" for p in prompts)
    return sha256(asked.encode()).hexdigest()


def _stratified(prompts: Sequence[Prompt], per_category: int | None, seed: int) -> list[Prompt]:
    strata: defaultdict[str, list[Prompt]] = defaultdict(list)
    for prompt in prompts:
        strata[prompt.category].append(prompt)
    placed = []
    for members in strata.values():
        lots = ((sha256(f"{seed}:{p.id}".encode()).digest(), p) for p in members)
        drawn = sorted(lots, key=itemgetter(0))[:per_category]
        placed += [((i + 0.5) / len(drawn), lot, p) for i, (lot, p) in enumerate(drawn)]
    return [prompt for _, _, prompt in sorted(placed, key=itemgetter(0, 1))]


def _read_ids(exclude: str, prompts: Prompts) -> frozenset[str]:
    path = Path(exclude).expanduser()
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as ex:
        raise ValueError(f"exclude: {path} cannot be read ({ex})") from ex
    named = [(n, line.partition("#")[0].strip()) for n, line in enumerate(lines, 1)]
    known = {p.id for p in prompts.prompts}
    for number, id in named:
        if id.startswith(f"{prompts.name}-") and id not in known:
            raise ValueError(f"exclude: {path}, line {number}: '{id}' is not in '{prompts.name}'")
        if id and "-" not in id:
            raise ValueError(
                f"exclude: {path}, line {number}: '{id}' is not an id; ids look like {min(known)}"
            )
    return frozenset(id for _, id in named)
