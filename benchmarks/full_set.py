"""What the full set costs: one process with one task against shards on two workers.

    uv run python -m benchmarks.full_set instant [PROMPTS]    # a model that answers at once, rules
    uv run python -m benchmarks.full_set latency [PROMPTS]    # a server 100 ms away, a judge

Synthetic prompts, 80,359 unless told. A ratio within one run is what counts; seconds are those of
the machine. Memory is the peak of the largest process.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from inspect_ai import eval
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from orbench_inspect.prompt_sets import FULL
from orbench_inspect.studies.study import run_tasks
from orbench_inspect.tasks import custom

CONNECTIONS = 100


@modelapi(name="instant")
class Instant(ModelAPI):
    """A model that answers at once."""

    def __init__(self, model_name: str, **_: Any) -> None:
        super().__init__(model_name)

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """The same answer to everything."""
        text = "Sure: rinse the pan, scrub it with salt, and dry it near a window. " * 16
        output = ModelOutput.from_content(self.model_name, text)
        output.usage = ModelUsage(input_tokens=40, output_tokens=250, total_tokens=290)
        return output


@click.group(help=__doc__)
def main() -> None:
    """Measure."""


@main.command()
@click.argument("prompts", type=click.IntRange(100), default=FULL.total)
def instant(prompts: int) -> None:
    """A model that answers at once, scored by rules."""
    _compare(prompts, "instant/m", None, {})


@main.command()
@click.argument("prompts", type=click.IntRange(100), default=4_000)
def latency(prompts: int) -> None:
    """A server 100 ms away, with a judge."""
    # Not above: workers run this file by its path, where the folder is no package.
    from benchmarks.server import serving

    with serving(0.1) as (env, asked):
        _compare(prompts, "openai-api/fake/m", "openai-api/fake/judge", env)
    click.echo(f"calls: {dict(asked)}")


def _compare(prompts: int, model: str, grader: str | None, env: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "prompts.csv"
        rows: list[tuple[float, float, float]] = []
        write_prompts(file, prompts)
        judged = ["--grader", grader] if grader else []
        this = str(Path(__file__))
        for what, command in {
            "two workers, in shards": [
                *(sys.executable, "-m", "orbench_inspect.cli", "launch", this, "sharded"),
                *("--workers", "2", "--max-connections", str(CONNECTIONS)),
            ],
            "one process, one task": [sys.executable, this, "plain"],
        }.items():
            logs = ["--log-dir", f"{name}/{len(rows)}"]
            rows.append(measured([*command, str(file), model, *judged, *logs], env))
            seconds, cpu, megabytes = rows[-1]
            click.echo(f"{what:24} {seconds:7.1f} s {cpu:7.1f} s CPU {megabytes:5.0f} MB")
        click.echo(f"{prompts:,} prompts: {rows[1][0] / rows[0][0]:.2f} times faster")


_MEASURE = """
import json, resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


def measured(command: Sequence[str], env: dict[str, str]) -> tuple[float, float, float]:
    """Seconds, seconds of computing of all processes, and megabytes of the largest."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, *command],
        env={**os.environ, "INSPECT_DISPLAY": "none", **env},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    cpu, megabytes = json.loads(done.stdout)
    return time.perf_counter() - start, cpu, megabytes


def write_prompts(file: Path, prompts: int) -> None:
    """Write synthetic prompts of the set's categories, in its proportions."""
    names = [name for name, size in FULL.counts.items() for _ in range(size)]
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["prompt", "category"])
        for n in range(prompts):
            category = names[n * len(names) // prompts]
            writer.writerow([f"Request {n}: what may one know about {category}?", category])


_FILE = click.argument("file")
_MODEL = click.argument("model")
_GRADER = click.option("--grader")
_LOGS = click.option("--log-dir", required=True)


@main.command(hidden=True)
@_FILE
@_MODEL
@_GRADER
@_LOGS
def plain(file: str, model: str, grader: str | None, log_dir: str) -> None:
    """One Inspect task, as `inspect eval` runs it."""
    (log,) = eval(
        custom(file=file, wanted="answer", scorer="judge" if grader else "matcher"),
        model=model,
        model_roles={"grader": grader} if grader else None,
        log_dir=log_dir,
        max_connections=CONNECTIONS,
    )
    sys.exit(log.status != "success")


@main.command(hidden=True)
@_FILE
@_MODEL
@_GRADER
@_LOGS
def sharded(file: str, model: str, grader: str | None, log_dir: str) -> None:
    """The same in shards of 8,000, two at least, for `orbench launch`."""
    with open(file, encoding="utf-8") as rows:
        n = max(2, sum(1 for _ in rows) // 8_000)
    by = "judge" if grader else "matcher"
    tasks = [
        custom(file=file, wanted="answer", scorer=by, shard=f"{k}/{n}") for k in range(1, n + 1)
    ]
    done, _ = run_tasks(tasks, [model], grader, log_dir, score_display=False)
    sys.exit(not done)


if __name__ == "__main__":
    main()
