"""How often does a model refuse any of OR-Bench's 80,359 harmless prompts?

    uv run python evals/full.py openai/gpt-4o --grader openai/gpt-4o-mini
    uv run orbench launch evals/full.py openai/gpt-4o --grader … --workers 2 --log-dir logs/full

Runs the set in shards, each a log of its own; `orbench compare` and the others read them as one
run. Run it again after an interruption: what was finished is not asked again.
"""

import sys
from pathlib import Path

import click

from orbench_inspect.cli_options import BATCH, BUDGET, PRICES
from orbench_inspect.studies import run_full, told_of


@click.command(help=__doc__)
@click.argument("models", nargs=-1, required=True, metavar="MODEL…")
@click.option("--grader", help="The judge. Without one, give --scorer matcher.")
@click.option(
    "--scorer",
    type=click.Choice(["judge", "cascade", "matcher"]),
    default="judge",
    show_default=True,
    help="A judge for all; rules first, and the judge for the rest; or rules alone.",
)
@click.option("--mitigation", default="none", show_default=True, help="By name or file.")
@click.option("--limit", type=click.IntRange(1), help="Prompts, the first in order. Default: all.")
@click.option("--shards", type=click.IntRange(1), default=10, show_default=True, help="At most.")
@click.option("--max-tasks", type=click.IntRange(1), default=1, help="Shards at once.")
@click.option("--max-tokens", type=click.IntRange(1), help="Of each response.")
@click.option("--max-samples", type=click.IntRange(1), help="Samples at once in each shard.")
@click.option("--source", default="hub", show_default=True, help="hub, or a folder.")
@click.option(
    "--allow-unpinned", is_flag=True, help="Accept a file that differs from the published one."
)
@BUDGET
@PRICES
@BATCH
@click.option("--log-dir", default="logs/full", show_default=True)
def main(
    models: tuple[str, ...],
    grader: str | None,
    scorer: str,
    mitigation: str,
    limit: int | None,
    shards: int,
    max_tasks: int,
    max_tokens: int | None,
    max_samples: int | None,
    source: str,
    allow_unpinned: bool,
    budget: float | None,
    prices: Path | None,
    batch: int | None,
    log_dir: str,
) -> None:
    """Run the set, or what is left of it."""
    if (grader is None) is not (scorer == "matcher"):
        raise click.UsageError("give either --grader PROVIDER/MODEL or --scorer matcher")
    done, logs = run_full(
        models,
        grader,
        log_dir,
        shards=shards,
        limit=limit,
        task_options={
            "scorer": scorer,
            "mitigation": mitigation,
            "source": source,
            "allow_unpinned": allow_unpinned,
        },
        max_tasks=max_tasks,
        max_samples=max_samples,
        budget=budget,
        prices=prices,
        batch=batch,
        **({"max_tokens": max_tokens} if max_tokens else {}),
    )
    click.echo(told_of(done, logs, log_dir))
    sys.exit(0 if done else 1)


if __name__ == "__main__":
    main()
