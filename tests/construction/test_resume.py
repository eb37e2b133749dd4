"""A construction killed in every stage: no call that was answered is made again."""

import csv
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.conftest import Serve
from tests.construction.world import CASES, World, config_file, planted

# Where calls stop being answered: what stands in them, and after how many of them.
KILLS = {
    "seeds": ("Category: ", 1),
    "rewrite": ("Number of new requests", 2),
    "moderate": ("Alarming words alone", 40),
    "second_chance": ("Judge the answer, not the request", 10),
    "select_hard": ("('judge'", 40),
}


@pytest.mark.slow
def test_a_kill_in_any_stage_repeats_no_call_that_was_answered(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_API_KEY", "none")
    world = World()
    config = config_file(tmp_path, serve(world))
    command = [sys.executable, "-m", "orbench_inspect.cli", "construct", str(config), "--yes"]
    for stage, (mark, after) in KILLS.items():
        world.hold(mark, after)
        before = world.held.total()
        running = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )
        _wait_until_still(world, running, stage)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        assert world.held.total() > before, stage
        world.release()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seed_calls = Counter({call: n for call, n in world.calls.items() if "Category: " in call[1]})
    again = {call: n - 1 for call, n in world.calls.items() if n > 1 and call not in seed_calls}
    # Inspect caches no output that a filter blocked: such a call is made again.
    paid_twice = [
        call for call, n in again.items() if n > world.held[call] and "block-" not in call[1]
    ]
    assert not paid_twice
    assert seed_calls.total() == 2 + sum(world.held[call] for call in seed_calls)
    trail = pq.read_table(tmp_path / "out" / "trail.parquet").to_pylist()
    moderated = [row["prompt"] for row in trail if row["prompt"] != row["seed"]]
    with (tmp_path / "out" / "hard.csv").open(newline="") as file:
        hard = Counter(row["prompt"] for row in csv.DictReader(file))
    assert hard
    assert hard == Counter(prompt for prompt in moderated if CASES[planted(prompt)[1]][1])


def _wait_until_still(world: World, running: "subprocess.Popen[bytes]", stage: str) -> None:
    """Until calls are held and nothing has moved for a second: all answers have arrived."""
    calls, since, end = -1, time.monotonic(), time.monotonic() + 60
    while time.monotonic() < end:
        if running.poll() is not None:
            assert running.stderr is not None
            pytest.fail(f"{stage}: ended by itself: {running.stderr.read().decode()}")
        if world.calls.total() != calls or not world.held:
            calls, since = world.calls.total(), time.monotonic()
        elif time.monotonic() - since > 1 and world.holding_now:
            return
        time.sleep(0.1)
    pytest.fail(f"{stage}: nothing was held within a minute")
