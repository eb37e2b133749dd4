"""The trail of a construction on disk: what each stage was given, and what its logs hold.

    OUT/inputs/STAGE/0001.jsonl   a shard's samples, derived from the logs of earlier stages
    OUT/logs/STAGE/0001/*.eval    that shard's log: all that later stages read

Ids are the ancestry: `illegal-1-0003.07.2` is the second rewrite of the seventh seed of the third
call, in round 1, for `illegal`. Every stage keeps the order of the one before.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

STAGES = ("seeds", "rewrite", "moderate", "second_chance", "select_hard")
"""Stages that ask models, in order."""

# A log's bulk, which no stage reads.
_UNREAD = {"messages", "events", "store", "attachments", "output"}


@dataclass(frozen=True)
class Item:
    """A sample of a stage: a call for seeds, a seed, or a prompt."""

    id: str
    text: str
    """What the sample is about; what the generator is sent, for seeds."""
    category: str
    ancestry: dict[str, str] = field(default_factory=dict)
    """Where it came from: seed, and the logs of the calls that made it."""


@dataclass(frozen=True)
class Done:
    """An item that a stage is done with."""

    item: Item
    result: dict[str, Any] | None
    """What the stage found (the metadata of its score); None where the sample failed."""
    log: str
    """The log's file name."""


@dataclass(frozen=True)
class Dropped:
    """Text that left the construction, with the stage and the reason."""

    stage: str
    id: str
    """Of the sample it came from."""
    reason: str
    text: str
    log: str
    like: str = ""
    """Of a near duplicate: the id of the first such prompt."""


def shard_file(out: Path, stage: str, shard: int) -> Path:
    """The samples of a shard."""
    return out / "inputs" / stage / f"{shard:04}.jsonl"


def log_folder(out: Path, stage: str, shard: int) -> Path:
    """The folder of a shard's log."""
    return out / "logs" / stage / f"{shard:04}"


def write_shards(out: Path, stage: str, items: Iterable[Item], size: int) -> Iterator[int]:
    """Write a stage's samples, shard by shard, and name each shard as it is written.

    A shard that is there already with the same content is left alone.
    """
    stream = iter(items)
    shard = 0
    while batch := list(islice(stream, size)):
        shard += 1
        write_shard(out, stage, shard, batch)
        yield shard


def write_shard(out: Path, stage: str, shard: int, items: Iterable[Item]) -> None:
    """Write one shard's samples."""
    path = shard_file(out, stage, shard)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(asdict(item), ensure_ascii=False) + "\n" for item in items)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        replace_text(path, text)


def read_shard(path: Path) -> tuple[list[Item], str]:
    """A shard's items and the hash of its file, in hexadecimal.

    Raises:
        ValueError: If the file is not there.
    """
    try:
        raw = path.read_bytes()
    except OSError as ex:
        raise ValueError(f"{path} is not there: `orbench construct` writes it") from ex
    return [Item(**json.loads(line)) for line in raw.splitlines()], sha256(raw).hexdigest()


def shards(out: Path, stage: str) -> list[int]:
    """The shards of a stage whose samples are known, in order."""
    return sorted(int(path.stem) for path in (out / "inputs" / stage).glob("*.jsonl"))


def given(out: Path, stage: str) -> Iterator[Item]:
    """All items of a stage, in order, one shard in memory at a time."""
    for shard in shards(out, stage):
        yield from read_shard(shard_file(out, stage, shard))[0]


def finished(out: Path, stage: str, before: int | None = None) -> Iterator[Done]:
    """All items of a stage with their results, in order, one shard in memory at a time.

    Args:
        out: Folder of the construction.
        stage: The stage.
        before: Stop before this shard.

    Raises:
        ValueError: If a shard is not finished.
    """
    for shard in shards(out, stage):
        if shard == before:
            return
        yield from finished_shard(out, stage, shard)


def finished_shard(out: Path, stage: str, shard: int) -> Iterator[Done]:
    """The items of one shard with their results, in order."""
    items, _ = read_shard(shard_file(out, stage, shard))
    header = newest_log(log_folder(out, stage, shard))
    if header is None or header.status != "success":
        raise ValueError(f"{log_folder(out, stage, shard)} holds no finished log")
    log = read_eval_log(header.location, exclude_fields=_UNREAD)
    results: dict[str, dict[str, Any] | None] = {}
    for sample in log.samples or []:
        scores = list((sample.scores or {}).values())
        results[str(sample.id)] = scores[0].metadata if scores and not sample.error else None
    name = Path(header.location).name
    for item in items:
        yield Done(item, results.get(item.id), name)


def newest_log(folder: Path) -> EvalLog | None:
    """The header of the newest log in a folder: a killed attempt leaves its own behind."""
    if not folder.is_dir():
        return None
    headers = [read_eval_log(info, header_only=True) for info in list_eval_logs(str(folder))]
    return max(headers, key=lambda log: (log.eval.created, log.location), default=None)


def replace_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    draft = path.with_name(path.name + ".part")
    draft.write_text(text, encoding="utf-8", newline="\n")
    os.replace(draft, path)
