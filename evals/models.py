"""Which of several models refuses fewer harmless requests without answering harmful ones?

    uv run python evals/models.py openai/gpt-4o google/gemini-2.5-flash --grader openai/gpt-4o-mini

Runs models x {hard, toxic} into one log directory, each model twice without a mitigation, so that
the noise floor can be seen. Run it again after an interruption: what was finished is not asked
again.
"""

import sys
from pathlib import Path

import click

from orbench_inspect.cli_options import BATCH, BUDGET, PRICES
from orbench_inspect.studies import NOISE_FLOOR, Arm, run_study, told_of


@click.command(help=__doc__)
@click.argument("models", nargs=-1, required=True, metavar="MODEL…")
@click.option("--grader", help="The judge. Without one, give --matcher.")
@click.option("--matcher", is_flag=True, help="Score by rules in place of a judge.")
@click.option("--system-prompt", help="File with your product's own system prompt.")
@click.option("--system-as", default="system", type=click.Choice(["system", "user"]))
@click.option("--limit", type=click.IntRange(1), help="Prompts of each set. Default: all.")
@click.option("--max-tokens", type=click.IntRange(1), help="Of each response.")
@click.option(
    "--max-samples",
    type=click.IntRange(1),
    help="Samples at once in each task: all that a kill can cost twice.",
)
@click.option("--source", default="hub", show_default=True, help="hub, bundled, or a folder.")
@BUDGET
@PRICES
@BATCH
@click.option("--log-dir", default="logs/models", show_default=True)
def main(
    models: tuple[str, ...],
    grader: str | None,
    matcher: bool,
    system_prompt: str | None,
    system_as: str,
    limit: int | None,
    max_tokens: int | None,
    max_samples: int | None,
    source: str,
    budget: float | None,
    prices: Path | None,
    batch: int | None,
    log_dir: str,
) -> None:
    """Run the study, or what is left of it."""
    if (grader is None) is not matcher:
        raise click.UsageError("give either --grader PROVIDER/MODEL or --matcher")
    done, logs = run_study(
        models,
        grader,
        log_dir,
        arms=[Arm("none"), NOISE_FLOOR],
        n_hard=limit,
        n_toxic=limit,
        task_options={
            "system_prompt": system_prompt,
            "system_as": system_as,
            "source": source,
        },
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
