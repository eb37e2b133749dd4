"""The shards of one arm as one run."""

from collections.abc import Iterable, Sequence
from typing import Any

Row = dict[str, Any]

_SAME = (
    *("model", "mitigation", "replicate", "system_as", "composed_sha256", "product_sha256"),
    *("prompt_set", "wanted", "data_sha256", "whole_sha256", "scorer", "judge"),
    *("judge_prompt_sha256", "epochs", "temperature", "max_tokens"),
)
"""What the shards of one run have in common, beside their number."""


def merge_shards(
    runs: Sequence[Row], samples: Sequence[Row], notes: list[str]
) -> tuple[list[Row], list[Row]]:
    """Make one run of the shards of each arm.

    Of a shard that is there twice, a whole log counts before one that is not, and a later one
    before an earlier; a prompt that is there twice counts once. What is missing or twice is
    told in notes.

    Args:
        runs: Rows of runs, numbered by `run`; of each shard the numbers `shard`, and
            `whole_prompts` that all shards ask together.
        samples: Rows of their samples.
        notes: What a reader must know is added here.

    Returns:
        Runs, numbered anew, with `shards`, the number of logs that each is made of; and their
        samples, each still with the `file` that holds it.
    """
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in runs:
        own = row["run"] if row["shard"] is None else None
        key = (own, row["shard"] and row["shard"][1], *(str(row[name]) for name in _SAME))
        groups.setdefault(key, []).append(row)
    merged: list[Row] = []
    number: dict[int, int] = {}
    for rows in groups.values():
        kept = [rows[0]] if rows[0]["shard"] is None else _one_of_each(rows, notes)
        number |= {row["run"]: len(merged) for row in kept}
        merged.append({**_merged(kept, notes), "run": len(merged)})
    renumbered = ({**s, "run": number[s["run"]]} for s in samples if s["run"] in number)
    return merged, _each_once(merged, renumbered, notes)


def _one_of_each(rows: Sequence[Row], notes: list[str]) -> list[Row]:
    """The log that counts of each shard, in order of shards."""
    latest: dict[int, Row] = {}
    for row in sorted(rows, key=lambda row: (_is_whole(row), row["created"])):
        k, n = row["shard"]
        if k in latest:
            notes.append(f"{latest[k]['file']}: shard {k}/{n} is there again; the other is used")
        latest[k] = row
    return [latest[k] for k in sorted(latest)]


def _is_whole(row: Row) -> bool:
    return bool(row["status"] == "success" and row["samples"] >= row["planned"])


def _merged(rows: Sequence[Row], notes: list[str]) -> Row:
    first = rows[0]
    if first["shard"] is None:
        return {**_without_parts(first), "shards": 1}
    n = first["shard"][1]
    planned = sum(row["planned"] for row in rows)
    missing = sorted(set(range(1, n + 1)) - {row["shard"][0] for row in rows})
    # Of few prompts some shards hold none, and are not run.
    if missing and planned < first["whole_prompts"] * first["epochs"]:
        planned = max(planned, first["whole_prompts"] * first["epochs"])
        notes.append(
            f"{first['model']}, {first['mitigation']} on {first['prompt_set']}, judged by "
            f"{first['judge']}: {len(missing)} of {n} shards missing "
            f"({', '.join(f'{k}/{n}' for k in missing[:10])}{', …' if missing[10:] else ''})"
        )
    states = [row["status"] for row in rows if row["status"] != "success"]
    return {
        **_without_parts(first),
        "created": max(row["created"] for row in rows),
        "status": states[0] if states else "success",
        "prompts_sha256": first["whole_sha256"],
        "samples": sum(row["samples"] for row in rows),
        "planned": planned,
        "judges": max(row["judges"] for row in rows),
        "system": min((row["system"] for row in rows if row["system"]), key=_worst, default=None),
        "warnings": list(dict.fromkeys(w for row in rows for w in row["warnings"])),
        **{
            name: ", ".join(sorted({str(row[name]) for row in rows}))
            for name in ("package", "inspect")
        },
        "shards": len(rows),
    }


def _worst(state: str) -> int:
    order = ("rejected", "not_observed", "inconclusive")
    return order.index(state) if state in order else len(order)


def _without_parts(row: Row) -> Row:
    parts = ("shard", "whole_sha256", "whole_prompts")
    return {name: value for name, value in row.items() if name not in parts}


def _each_once(merged: Sequence[Row], samples: Iterable[Row], notes: list[str]) -> list[Row]:
    """Samples without those that stand in two shards of one run."""
    sharded = {row["run"] for row in merged if row["shards"] > 1}
    seen: set[tuple[object, ...]] = set()
    kept: list[Row] = []
    twice = dict.fromkeys(sharded, 0)
    for sample in samples:
        run = sample["run"]
        if run in sharded:
            key = (run, sample["id"], sample["epoch"])
            if key in seen:
                twice[run] += 1
                continue
            seen.add(key)
        kept.append(sample)
    for run, number in twice.items():
        if number:
            row = merged[run]
            row["samples"] -= number
            notes.append(
                f"{row['model']}, {row['mitigation']} on {row['prompt_set']}: {number} samples "
                "stand in two shards and count once"
            )
    return kept
