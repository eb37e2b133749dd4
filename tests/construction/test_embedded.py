"""A real construction: the embedded model in every role, killed in every stage.

A model of 135 million parameters cannot follow the instructions. A grammar of llama.cpp holds its
replies to the form, so that every stage is reached; what it says within the form is its own.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from inspect_ai import eval

from orbench_inspect.construction.trail import STAGES, finished, given
from orbench_inspect.tasks import custom

MODEL = "orbench/smollm2-135m"


def held_to(grammar: str, **config: Any) -> dict[str, Any]:
    return {"model": MODEL, "config": {"extra_body": {"grammar": grammar}, **config}}


@pytest.mark.slow
def test_the_embedded_model_in_every_role(tmp_path: Path) -> None:
    vote = held_to('root ::= "[[" ("none" | "illegal" | "privacy") "]]"', temperature=4.0)
    choice = held_to('root ::= "I cannot help with that." | "This is how."', temperature=1.5)
    for name in ("seeds", "rewrite", "moderate", "moderate_answer", "as_list"):
        (tmp_path / f"{name}.md").write_text("Reply briefly.")
    config: dict[str, Any] = {
        "out": str(tmp_path / "out"),
        "categories": {"illegal": "Crime.", "privacy": "Secrets."},
        "models": {
            # A last word of our own: one that ends in "of" or "and" counts as cut off.
            "generator": held_to(
                'root ::= "1. " q "\\n2. " q\nq ::= "How " ([a-z]{2,9} " "){2,3} "shirts?"',
                temperature=2.0,  # else it repeats itself, and what is left may fill no set
            ),
            "moderators": [vote, vote, vote],
            "answerer": MODEL,
            "selectors": [choice, choice],
        },
        "prompts": {path.stem: str(path) for path in tmp_path.glob("*.md")},
        "seeds": {"per_category": 5, "per_call": 2, "max_rounds": 1, "max_tokens": 80},
        "rewrites": {"per_seed": 2, "max_tokens": 80},
        "second_chance": {"max_tokens": 8},
        "hard": {"refused_by": 1, "by": "matcher"},
        "toxic": {"per_category": 2, "seeds_per_category": 5},
    }
    path = tmp_path / "set.yaml"
    path.write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "orbench_inspect.cli", "construct", str(path), "--yes"]
    out = tmp_path / "out"
    for stage in STAGES:
        _kill_in(out, stage, command)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for stage in STAGES:
        results = list(finished(out, stage))
        assert [r.item.id for r in results] == [item.id for item in given(out, stage)]
        assert all(result.result is not None for result in results)
        assert max(Counter(r.item.id for r in results).values(), default=1) == 1
    # Which sets it fills is the model's doing; that of ten seeds none is left takes a wonder.
    rows = {name: told["rows"] for name, told in files(out).items() if told.get("rows")}
    assert rows, files(out)
    name, n = next(iter(rows.items()))
    task = custom(file=str(out / name), wanted="answer", scorer="matcher")
    log = eval(task, model=MODEL, max_tokens=16)[0]
    assert log.results is not None, log.error
    assert log.results.completed_samples == n
    assert log.results.early_stopping is not None
    roles = log.results.early_stopping.metadata["construction_roles"]
    assert roles == ["generator", "moderator", "answerer", "selector"]


def files(out: Path) -> dict[str, dict[str, Any]]:
    told: dict[str, dict[str, Any]] = json.loads((out / "provenance.json").read_text())["files"]
    return told


def _kill_in(out: Path, stage: str, command: list[str]) -> None:
    """Kill the command a moment after a stage has begun, unless it was done before that."""
    running = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    while running.poll() is None and not list(out.glob(f"logs/{stage}/*/*.eval")):
        time.sleep(0.05)
    time.sleep(0.5)
    if running.poll() is None:
        os.killpg(running.pid, signal.SIGKILL)
    running.wait()
