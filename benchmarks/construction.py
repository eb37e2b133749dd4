"""How fast a construction is apart from its models, how much memory it takes, what a kill costs.

    uv run python -m benchmarks.construction --scale 100

Scripted models on a local server stand in for all roles; the paper's size (20,000 seeds, 100,000
rewrites, 300,000 votes) is divided by --scale. The first run is undisturbed; the second is killed
(SIGKILL) half way through each stage and started again, and calls that came twice are counted.
"""

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from hashlib import md5
from pathlib import Path
from random import Random

import click
import yaml

from tests.fakes.openai import chat
from tests.fakes.server import FakeServer, Reply, Request, serving

STAGES = ("seeds", "rewrite", "moderate", "second_chance", "select_hard")
_WORDS = [a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in "bdgklmnprstv"]


class Models:
    """All models: a quarter of rewrites is toxic, half of the safe are refused."""

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self.calls: dict[str, Counter[bytes]] = {stage: Counter() for stage in STAGES}
        self.lock = threading.Lock()
        self.made = 0

    def __call__(self, request: Request) -> Reply:
        """Answer a request."""
        name, user = str(request.body["model"]), request.user
        stage = _stage(name, user, request.texts[0][1])
        key = md5(f"{name} {request.texts}".encode()).digest()
        with self.lock:
            self.calls[stage][key] += 1
        if name == "gen":
            text = self._list(20 if stage == "seeds" else 5)
        elif name.startswith("mod"):
            text = f"So. [[{'illegal' if 'toxic' in user else 'none'}]]"
        elif name == "judge":
            text = f"So. [[direct_{'refusal' if 'cannot help' in user else 'answer'}]]"
        else:
            refuses = int(md5(user.encode()).hexdigest(), 16) % 2
            text = (
                f"I cannot help with that, says {name}."
                if refuses
                else f"This is how, says {name}. " * 20
            )
        return chat(text, delay=self.delay, output_tokens=len(text) // 4)

    def _list(self, n: int) -> str:
        lines = []
        for number in range(1, n + 1):
            with self.lock:
                self.made += 1
                made = self.made
            words = " ".join(Random(made).choices(_WORDS, k=9))
            kind = "toxic" if made % 4 == 0 else "tame"
            lines.append(f"{number}. How does {kind} {words} {made} go?")
        return "\n".join(lines)

    def repeated(self, stage: str, planned: int | None) -> int:
        """Calls that came again; calls for seeds are all alike, and their number is known."""
        calls = self.calls[stage]
        return calls.total() - (len(calls) if planned is None else planned)


def _stage(name: str, user: str, first: str) -> str:
    if name == "gen":
        return "seeds" if user.startswith("Category") else "rewrite"
    if name.startswith("mod"):
        return "second_chance" if "ANSWER" in user else "moderate"
    return "second_chance" if name == "ans" else "select_hard"


@click.command(help=__doc__)
@click.option("--scale", default=100, show_default=True, type=click.IntRange(1))
@click.option("--delay", default=0.2, show_default=True, help="Seconds a call takes.")
@click.option("--at-once", default=100, show_default=True, help="Samples at once.")
@click.option("--kill/--no-kill", default=True, help="Make the second run too.")
def main(scale: int, delay: float, at_once: int, kill: bool) -> None:
    """Run it."""
    per_category = max(1, 2000 // scale)
    with tempfile.TemporaryDirectory() as name, serving(Models(delay)) as server:
        folder = Path(name)
        config = _config(folder / "one", server, per_category, at_once)
        start = time.monotonic()
        output = _finish(config)
        print(f"undisturbed: {len(server.requests):,} calls, {time.monotonic() - start:,.0f} s")
        for line in output.splitlines():
            if re.match(r"\w+: [\d,]+ samples finished", line) or line.startswith("safe"):
                print(f"  {line}")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        size = sum(f.stat().st_size for f in (folder / "one").rglob("*.eval")) / 1e6
        print(f"  peak memory {peak:,.0f} MB, logs {size:,.0f} MB, whole run with start-up")
    if kill:
        _kills(per_category, delay, at_once)


def _kills(per_category: int, delay: float, at_once: int) -> None:
    models = Models(delay)
    with tempfile.TemporaryDirectory() as name, serving(models) as server:
        config = _config(Path(name), server, per_category, at_once)
        seeds, rewrites = 10 * per_category, 50 * per_category
        planned = {
            "seeds": 10 * -(-per_category // 20),
            "rewrite": seeds,
            "moderate": 3 * rewrites,
            "second_chance": rewrites,
            "select_hard": 4 * rewrites,
        }
        for stage in STAGES:
            running = subprocess.Popen(
                _command(config), stdout=subprocess.DEVNULL, start_new_session=True
            )
            while running.poll() is None and models.calls[stage].total() < planned[stage] / 2:
                time.sleep(0.02)
            if running.poll() is not None:
                sys.exit(f"{stage}: the run ended before it could be killed")
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
        _finish(config)
        print("killed half way through each stage: calls that came twice")
        for stage in STAGES:
            again = models.repeated(stage, planned[stage] if stage == "seeds" else None)
            print(f"  {stage:14} {again:6,} of {models.calls[stage].total():,}")


def _config(folder: Path, server: FakeServer, per_category: int, at_once: int) -> Path:
    folder.mkdir(exist_ok=True)

    def model(name: str) -> dict[str, object]:
        config = {"max_connections": at_once}
        return {
            "model": f"openai-api/fake/{name}",
            "base_url": f"{server.url}/v1",
            "config": config,
        }

    path = folder / "set.yaml"
    models = {
        "generator": model("gen"),
        "moderators": [model(f"mod-{n}") for n in "abc"],
        "answerer": model("ans"),
        "selectors": [model(f"sel-{n}") for n in "abc"],
        "grader": model("judge"),
    }
    config = {
        "out": str(folder / "out"),
        "models": models,
        "seeds": {"per_category": per_category},
        "max_samples": at_once,
    }
    path.write_text(yaml.safe_dump(config))
    return path


def _command(config: Path) -> list[str]:
    return [sys.executable, "-m", "orbench_inspect.cli", "construct", str(config), "--yes"]


def _finish(config: Path) -> str:
    done = subprocess.run(_command(config), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


if __name__ == "__main__":
    os.environ |= {"FAKE_API_KEY": "none", "INSPECT_DISPLAY": "none"}
    with tempfile.TemporaryDirectory() as cache:
        os.environ["INSPECT_CACHE_DIR"] = cache
        main(standalone_mode=False)
