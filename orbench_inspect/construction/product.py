"""The product: files of prompts that run at once, what they came from, and a card."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import file_digest
from importlib.metadata import version
from pathlib import Path
from typing import Any

from orbench_inspect.construction.candidates import Candidate, candidates
from orbench_inspect.construction.card import card
from orbench_inspect.construction.config import Config, Prompts
from orbench_inspect.construction.draw import draw
from orbench_inspect.construction.facts import SETS, Facts, tokens_used
from orbench_inspect.construction.rewrite import made_rewrites
from orbench_inspect.construction.seeds import made_seeds
from orbench_inspect.construction.stage import SET_ID_FILE
from orbench_inspect.construction.tables import csv_file, parquet_file
from orbench_inspect.construction.trail import (
    STAGES,
    Done,
    Dropped,
    log_folder,
    newest_log,
    replace_text,
    shards,
)
from orbench_inspect.prompt_sets.provenance import PROVENANCE

FILES = {"safe": "safe.parquet", "hard": "hard.csv", "toxic": "toxic.csv"}
TRAIL = "trail.parquet"
REJECTS = "rejects.jsonl"
CANARY = "CANARY.txt"
CARD = "README.md"

_UPSTREAM = ("prompt", "category")
_TRAIL_COLUMNS = (
    *("prompt_id", "prompt", "category", "decision", "safe", "hard", "toxic", "seed_id", "seed"),
    *("seed_log", "rewrite_log", "moderate_log", "votes", "second_chance_log"),
    *("second_chance_votes", "select_hard_log", "outcomes"),
)


def write_product(config: Config) -> Facts:
    """Write the product of a construction whose stages are all finished.

    Every file is written whole or not at all, `provenance.json` last.

    Raises:
        ValueError: If a stage is not finished.
    """
    out = Path(config.out)
    id = (out / SET_ID_FILE).read_text(encoding="ascii")
    facts = Facts(config)
    _write_rejects(config, out, facts)
    _write_sets(out, _chosen(config, out, facts), facts)
    replace_text(out / CANARY, canary(id) + "\n")
    replace_text(out / CARD, card(facts, canary(id), tokens_used(out)))
    replace_text(out / PROVENANCE, json.dumps(_provenance(facts, id), indent=1) + "\n")
    return facts


def canary(id: str) -> str:
    """The line that asks not to be trained on, and by which training on it can be told."""
    return (
        "EVALUATION DATA: DO NOT TRAIN ON THESE PROMPTS OR ON ANSWERS TO THEM. "
        f"canary GUID orbench-construction:{id}"
    )


def _write_rejects(config: Config, out: Path, facts: Facts) -> None:
    draft = out / (REJECTS + ".part")
    streams = {"seeds": made_seeds(config, out), "rewrite": made_rewrites(config, out)}
    with draft.open("w", encoding="utf-8", newline="\n") as file:
        for stage, made in streams.items():
            for found in made:
                facts.note_made(stage, found)
                if isinstance(found, Dropped):
                    file.write(json.dumps(asdict(found)) + "\n")
    draft.replace(out / REJECTS)


def _chosen(config: Config, out: Path, facts: Facts) -> dict[str, set[str]]:
    """Ids of the hard and the toxic prompts. Only ids are held, never all texts."""
    hard: dict[str, str] = {}
    toxic: dict[str, str] = {}
    for candidate in candidates(out):
        facts.note_moderated(candidate)
        item = candidate.item
        if candidate.is_safe_rewrite and (candidate.refused_by or 0) >= config.hard.refused_by:
            hard[item.id] = item.category
        elif candidate.is_toxic_candidate:
            toxic[item.id] = item.category
    return {
        "hard": draw(hard, config.seed, size=config.hard.size),
        "toxic": draw(toxic, config.seed, per_category=config.toxic.per_category),
    }


def _write_sets(out: Path, chosen: Mapping[str, set[str]], facts: Facts) -> None:
    with (
        parquet_file(out / FILES["safe"], _UPSTREAM) as safe,
        csv_file(out / FILES["hard"], _UPSTREAM) as hard,
        csv_file(out / FILES["toxic"], _UPSTREAM) as toxic,
        parquet_file(out / TRAIL, _TRAIL_COLUMNS) as trail,
    ):
        for candidate in candidates(out):
            item = candidate.item
            in_sets = {name: item.id in ids for name, ids in chosen.items()}
            in_sets["safe"] = candidate.is_safe_rewrite
            for name, add in zip(SETS, (safe, hard, toxic), strict=True):
                if in_sets[name]:
                    add({"prompt": item.text, "category": item.category})
                    facts.note_in_set(name, item)
            trail(_trail_row(candidate, in_sets))


def _trail_row(candidate: Candidate, in_sets: Mapping[str, bool]) -> dict[str, str | None]:
    """All text, with lists as JSON, so that any tool reads the file."""
    item, chance, selected = candidate.item, candidate.chance, candidate.selected

    def found(done: Done | None, key: str) -> str | None:
        value = (done.result or {}).get(key) if done is not None else None
        return None if value is None else json.dumps(value, ensure_ascii=False)

    return {
        "prompt_id": item.id,
        "prompt": item.text,
        "category": item.category,
        "decision": candidate.decision,
        **{name: str(here).lower() for name, here in in_sets.items()},
        "seed_id": item.ancestry.get("seed_id", item.id),
        "seed": item.ancestry.get("seed", item.text),
        "seed_log": item.ancestry["seed_log"],
        "rewrite_log": item.ancestry.get("rewrite_log"),
        "moderate_log": candidate.voted.log,
        "votes": found(candidate.voted, "votes"),
        "second_chance_log": chance.log if chance else None,
        "second_chance_votes": found(chance, "votes"),
        "select_hard_log": selected.log if selected else None,
        "outcomes": found(selected, "outcomes"),
    }


def _provenance(facts: Facts, id: str) -> dict[str, Any]:
    """What the product was made by, for machines: `orbench_inspect/custom` reads it."""
    config = facts.config
    out, roles = Path(config.out), config.roles
    logs = []
    for stage in STAGES:
        for shard in shards(out, stage):
            log = newest_log(log_folder(out, stage, shard))
            logs.append(f"logs/{stage}/{shard:04}/{Path(log.location).name if log else ''}")
    return {
        "made_by": f"orbench-inspect {version('orbench-inspect')}",
        "id": id,
        "files": {
            **{
                file: {"sha256": _sha256(out / file), "rows": facts.in_set[name].total()}
                for name, file in FILES.items()
            },
            **{file: {"sha256": _sha256(out / file)} for file in (TRAIL, REJECTS)},
        },
        "models": {role: [spec.model for spec in specs] for role, specs in roles.items()},
        "settings": {role: [spec.config for spec in specs] for role, specs in roles.items()},
        "prompts_sha256": {name: config.prompt(name).sha256 for name in Prompts.model_fields},
        "logs": logs,
        # Without what only concerns the machine it ran on.
        "config": config.model_dump(mode="json", exclude={"out", "published", "models"}),
    }


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
