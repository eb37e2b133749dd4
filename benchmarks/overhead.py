"""What our task costs beside the smallest Inspect task that makes the same model calls.

    uv run python -m benchmarks.overhead computing [--rounds 3] [--no-score-display]
    uv run python -m benchmarks.overhead waiting

1,319 synthetic prompts are asked of a local server, and each response is judged there. `computing`
runs both tasks with the same settings, each in a process of its own, in turn; what counts is the
ratio of their seconds of computing (CPU), the least of the rounds. `--no-score-display` is
Inspect's: no metrics while the run goes on. `waiting` has the server take two seconds for each
call, and holds the run's time against that of its calls alone.
"""

import sys
import tempfile
from datetime import datetime
from pathlib import Path

import click
from inspect_ai import Task, eval
from inspect_ai.dataset import FieldSpec, csv_dataset
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.model import (
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    get_model,
)
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate

from benchmarks.full_set import CONNECTIONS, measured, write_prompts
from benchmarks.server import serving
from orbench_inspect.as_data import as_data
from orbench_inspect.scoring.judge import load_judge_prompt
from orbench_inspect.tasks import custom

PROMPTS = 1_319
LATENCY = 2.0


@scorer(metrics=[mean(), stderr()])
def judged() -> Scorer:
    """One call of the judge, and one look at its reply."""
    prompt = load_judge_prompt().text

    async def score(state: TaskState, target: Target) -> Score:
        reply = await get_model(role="grader", required=True).generate(
            [
                ChatMessageSystem(content=prompt),
                ChatMessageUser(
                    content=as_data(question=state.input_text, response=state.output.completion)
                ),
            ]
        )
        return Score(value=float("[[direct_answer]]" not in reply.completion))

    return score


def smallest(file: str) -> Task:
    """A prompt, a response, a verdict."""
    return Task(
        dataset=csv_dataset(file, FieldSpec(input="prompt")),
        solver=generate(),
        scorer=judged(),
        config=GenerateConfig(temperature=0, max_tokens=4096),
    )


@click.group(help=__doc__)
def main() -> None:
    """Measure."""


@main.command()
@click.option("--rounds", type=click.IntRange(1), default=3)
@click.option("--score-display/--no-score-display", default=True)
def computing(rounds: int, score_display: bool) -> None:
    """Our task and the smallest, in turn."""
    least = dict.fromkeys(("smallest", "ours"), float("inf"))
    with tempfile.TemporaryDirectory() as name, serving(0) as (env, _):
        file = Path(name) / "prompts.csv"
        write_prompts(file, PROMPTS)
        for number in range(rounds):
            for which in least:
                code = f"from benchmarks.overhead import run; run({which!r}, {str(file)!r}, "
                code += f"{name + f'/{which}{number}'!r}, score_display={score_display})"
                seconds, cpu, megabytes = measured([sys.executable, "-c", code], env)
                least[which] = min(least[which], cpu)
                click.echo(f"{which:10} {seconds:6.1f} s {cpu:6.1f} s CPU {megabytes:5.0f} MB")
    ours, base = least["ours"], least["smallest"]
    click.echo(
        f"{1000 * base / PROMPTS:.1f} and {1000 * ours / PROMPTS:.1f} ms CPU a prompt: ", nl=False
    )
    click.echo(f"{ours / base - 1:+.1%}")


@main.command()
@click.option("--samples", type=click.IntRange(1), help="At once. Default: as connections.")
def waiting(samples: int | None) -> None:
    """Our task, where each call takes two seconds."""
    with tempfile.TemporaryDirectory() as name, serving(LATENCY) as (env, _):
        file = Path(name) / "prompts.csv"
        write_prompts(file, PROMPTS)
        code = f"from benchmarks.overhead import run; run('ours', {str(file)!r}, {name!r}, "
        code += f"{samples})"
        measured([sys.executable, "-c", code], env)
        (info,) = list_eval_logs(name)
        stats = read_eval_log(info, header_only=True).stats
    seconds = (
        datetime.fromisoformat(stats.completed_at) - datetime.fromisoformat(stats.started_at)
    ).total_seconds()
    least = 2 * PROMPTS * LATENCY / CONNECTIONS
    click.echo(f"{seconds:.1f} s for calls of {least:.1f} s: {seconds / least:.2f}")


def run(
    which: str,
    file: str,
    log_dir: str,
    samples: int | None = None,
    score_display: bool | None = None,
) -> None:
    """Run one of the tasks; for a process of its own."""
    made = smallest(file) if which == "smallest" else custom(file=file, wanted="answer")
    (log,) = eval(
        made,
        model="openai-api/fake/m",
        model_roles={"grader": "openai-api/fake/judge"},
        log_dir=log_dir,
        max_connections=CONNECTIONS,
        max_samples=samples,
        score_display=score_display,
        display="none",
    )
    if log.status != "success" or log.results is None:
        raise RuntimeError(f"{which}: {log.status}")


if __name__ == "__main__":
    main()
