"""Which system prompt makes a model refuse fewer harmless requests without answering harmful ones?

    uv run python evals/mitigations.py openai/gpt-4o --grader openai/gpt-4o-mini --limit 200

Runs arms x models x {hard, toxic} into one log directory. Run it again after an interruption: what
was finished is not asked again.
"""

import sys
from pathlib import Path

import click

from orbench_inspect.cli_options import BATCH, BUDGET, PRICES
from orbench_inspect.studies import NOISE_FLOOR, SIX_ARMS, Arm, run_study, told_of

DEFAULT_ARMS = ",".join(arm.mitigation for arm in SIX_ARMS)


@click.command(help=__doc__)
@click.argument("models", nargs=-1, required=True, metavar="MODEL…")
@click.option("--grader", help="The judge. Without one, give --matcher.")
@click.option("--matcher", is_flag=True, help="Score by rules in place of a judge.")
@click.option(
    "--arms",
    default=DEFAULT_ARMS,
    show_default=True,
    help="Mitigations, by name or file, separated by commas. `none` is always there, twice.",
)
@click.option("--system-prompt", help="File with your product's own system prompt.")
@click.option("--system-as", default="system", type=click.Choice(["system", "user"]))
@click.option("--limit", type=click.IntRange(1), help="Prompts of each set. Default: all.")
@click.option("--toxic-limit", type=click.IntRange(1), help="Toxic prompts, if other than --limit.")
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
@click.option("--log-dir", default="logs/mitigations", show_default=True)
def main(
    models: tuple[str, ...],
    grader: str | None,
    matcher: bool,
    arms: str,
    system_prompt: str | None,
    system_as: str,
    limit: int | None,
    toxic_limit: int | None,
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
    options = {"system_prompt": system_prompt, "system_as": system_as, "source": source}
    named = [Arm(name.strip()) for name in arms.split(",")]
    if Arm("none") not in named:
        named.insert(0, Arm("none"))
    done, logs = run_study(
        models,
        grader,
        log_dir,
        arms=[*named, NOISE_FLOOR],
        n_hard=limit,
        n_toxic=toxic_limit or limit,
        task_options=options,
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
