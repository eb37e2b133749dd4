"""The tasks: what is asked, under which system prompt, and how the responses are scored.

OR-Bench (Cui, Chiang, Stoica and Hsieh, ICML 2025, arXiv 2405.20947) measures over-refusal:
`hard` and `full` should be answered, `toxic` should be refused.

    inspect eval orbench_inspect/hard --model openai/gpt-4o --model-role grader=openai/gpt-4o-mini
"""

from typing import Any

from inspect_ai import Task, task

from orbench_inspect.measurement import measurement, validation
from orbench_inspect.options import (
    CustomOptions,
    FullOptions,
    PublishedOptions,
    ValidationOptions,
    check,
)
from orbench_inspect.prompt_sets import (
    FULL,
    HARD,
    TOXIC,
    PromptSet,
    custom_prompts,
    load_prompts,
)
from orbench_inspect.scoring.labels import read_labelled
from orbench_inspect.usage import usage_errors


@task
def hard(
    source: str = "hub",
    mitigation: str = "none",
    system_prompt: str | None = None,
    system_as: str = "system",
    replicate: int = 1,
    scorer: str = "judge",
    judge_prompt: str = "strict",
    categories: str | list[str] | None = None,
    per_category: int | None = None,
    seed: int = 42,
    first: int | None = None,
    shard: str | None = None,
    exclude: str | None = None,
    audit: float | None = None,
    allow_self_judge: bool = False,
    allow_unpinned: bool = False,
    **unknown: Any,
) -> Task:
    """OR-Bench Hard: 1,319 harmless prompts that sound harmful. They should be answered.

    Model roles: `grader`, the judge; required unless `scorer=matcher`.

    Args:
        source: `hub`, `bundled` (the package's own prompts), or a folder with the upstream files.
        mitigation: Name or file of a mitigation.
        system_prompt: File with the product's own system prompt; the mitigation comes after it.
        system_as: `system`, or `user` for models that take no system message.
        replicate: Which repetition of the same arm this is; from 2 on never from a cache, and
            judged anew.
        scorer: `judge`; `matcher`, rules without a model; or `cascade`, certain rules first.
        judge_prompt: Name or file of the judge's instructions.
        categories: Ask these categories only.
        per_category: Ask this many prompts of each category.
        seed: Seed of the order of prompts.
        first: Ask this many, the first in order; unlike `--limit`, a part of the task's identity.
        shard: Ask one part of this only, such as `3/10`: the ten together ask just what would be
            asked without it, each prompt once, and are read as one run.
        exclude: File of sample ids to leave out.
        audit: Share of what a cascade's rules settle that is judged all the same (default: about
            300 responses in a run).
        allow_self_judge: Let the evaluated model judge itself; marked in the log.
        allow_unpinned: Accept prompts that differ from the published set; recorded.
        **unknown: Anything else stops the run.
    """
    return _published(HARD, check(PublishedOptions, locals()))


@task
def toxic(
    source: str = "hub",
    mitigation: str = "none",
    system_prompt: str | None = None,
    system_as: str = "system",
    replicate: int = 1,
    scorer: str = "judge",
    judge_prompt: str = "strict",
    categories: str | list[str] | None = None,
    per_category: int | None = None,
    seed: int = 42,
    first: int | None = None,
    shard: str | None = None,
    exclude: str | None = None,
    audit: float | None = None,
    allow_self_judge: bool = False,
    allow_unpinned: bool = False,
    **unknown: Any,
) -> Task:
    """OR-Bench Toxic: 655 harmful prompts. They should be refused. Options as for `hard`."""
    return _published(TOXIC, check(PublishedOptions, locals()))


@task
def full(
    source: str = "hub",
    mitigation: str = "none",
    system_prompt: str | None = None,
    system_as: str = "system",
    replicate: int = 1,
    scorer: str = "judge",
    judge_prompt: str = "strict",
    categories: str | list[str] | None = None,
    per_category: int | None = None,
    seed: int = 42,
    first: int | None = None,
    shard: str | None = None,
    exclude: str | None = None,
    audit: float | None = None,
    allow_self_judge: bool = False,
    allow_unpinned: bool = False,
    all: bool = False,
    **unknown: Any,
) -> Task:
    """OR-Bench 80K: 80,359 harmless prompts. Starts with `all=true` or `per_category` only.

    Options as for `hard`. The hard set is part of it: never pool the two.
    """
    return _published(FULL, check(FullOptions, locals()))


@task
def custom(
    file: str | None = None,
    wanted: str | None = None,
    mitigation: str = "none",
    system_prompt: str | None = None,
    system_as: str = "system",
    replicate: int = 1,
    scorer: str = "judge",
    judge_prompt: str = "strict",
    categories: str | list[str] | None = None,
    per_category: int | None = None,
    seed: int = 42,
    first: int | None = None,
    shard: str | None = None,
    exclude: str | None = None,
    audit: float | None = None,
    allow_self_judge: bool = False,
    **unknown: Any,
) -> Task:
    """Your own prompts, in a file.

    Args:
        file: csv, jsonl or parquet with a column `prompt` and, if you have any, `category`.
        wanted: What should happen to the prompts: `answer` or `refuse`.
        mitigation: See `hard`.
        system_prompt: See `hard`.
        system_as: See `hard`.
        replicate: See `hard`.
        scorer: See `hard`.
        judge_prompt: See `hard`.
        categories: See `hard`.
        per_category: See `hard`.
        seed: See `hard`.
        first: See `hard`.
        shard: See `hard`.
        exclude: See `hard`.
        audit: See `hard`.
        allow_self_judge: See `hard`.
        **unknown: Anything else stops the run.
    """
    options = check(CustomOptions, locals())
    with usage_errors():
        return measurement(custom_prompts(options.file, options.wanted), options)


@task
def judge_validation(
    labels: str | list[str] | None = None,
    partial: str = "refused",
    judge_prompt: str = "strict",
    seed: int = 42,
    first: int | None = None,
    **unknown: Any,
) -> Task:
    """Human-labelled responses, graded by the judge: how far can it be trusted?

    Nothing is generated, and no `--model` is needed. Model roles: `grader`, the judge.

    Args:
        labels: Files (csv, jsonl, parquet) with columns `prompt`, `response`, `label` and, if
            known, `model`, `side` and `second_label`; or XSTest's completions as published.
        partial: What a human label of partial refusal counts as: `refused`, `answered` or
            `left_out`.
        judge_prompt: Name or file of the judge's instructions.
        seed: Seed of the order.
        first: Grade this many, the first in order.
        **unknown: Anything else stops the run.
    """
    options = check(ValidationOptions, locals())
    with usage_errors():
        return validation(read_labelled(options.labels, options.partial), options)


def _published(prompt_set: PromptSet, options: PublishedOptions) -> Task:
    with usage_errors():
        return measurement(
            load_prompts(prompt_set, options.source, options.allow_unpinned), options
        )
