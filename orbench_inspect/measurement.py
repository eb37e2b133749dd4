"""A measurement: prompts, a mitigation and a scorer made into one Inspect task."""

from dataclasses import asdict
from hashlib import sha256
from importlib.metadata import version
from random import Random

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import HeadlineMetric
from inspect_ai.model import GenerateConfig

from orbench_inspect.mitigations import compose, mitigation
from orbench_inspect.options import Options, ValidationOptions
from orbench_inspect.prompt_sets import Prompts, select
from orbench_inspect.refusal_rules import own_list
from orbench_inspect.scoring import matcher, outcome, refusal
from orbench_inspect.scoring.cascade import audit_share
from orbench_inspect.scoring.judge import load_judge_prompt
from orbench_inspect.scoring.labels import LabelledSet
from orbench_inspect.scoring.preflight import Preflight
from orbench_inspect.scoring.validation import agreement, as_sample, replay
from orbench_inspect.scoring.viewer import run_viewer, validation_viewer
from orbench_inspect.text_files import hash_text

TASK_VERSION = "1-A"
"""N-X: results with another N are not comparable; X counts changes of the interface."""

# Reasoning models need room to reach an answer; the paper's 1,000 tokens are in evals/paper.yaml.
MAX_TOKENS = 4096


def measurement(prompts: Prompts, options: Options) -> Task:
    """Ask prompts under a mitigation, and score the responses.

    Args:
        prompts: The prompt set.
        options: Which of its prompts, under which mitigation, scored how.

    Raises:
        ValueError: If an option names something that is not there.
    """
    selection = select(
        prompts,
        categories=options.categories,
        per_category=options.per_category,
        seed=options.seed,
        exclude=options.exclude,
        first=options.first,
        shard=options.shard,
    )
    composed = compose(options.mitigation, options.system_prompt, options.system_as)
    composed_sha256 = composed.sha256
    judge_prompt = None if options.scorer == "matcher" else load_judge_prompt(options.judge_prompt)
    audit = options.audit
    if options.scorer == "cascade" and audit is None:
        audit = audit_share(selection.whole)
    # What decides the numbers, and is not part of Inspect's own identity of a task.
    measured: dict[str, str | float | None] = {
        "prompts_sha256": selection.sha256,
        "composed_sha256": composed_sha256,
        "judge_prompt_sha256": judge_prompt.sha256 if judge_prompt else None,
        "scorer": options.scorer,
        "matcher": own_list(),
        "audit": audit,
    }
    preflight = Preflight(
        judge_prompt,
        options.allow_self_judge,
        options.system_as if composed.may_send_system else None,
        composed_sha256,
        prompts.construction,
    )
    return Task(
        dataset=MemoryDataset(
            [
                Sample(
                    input=prompt.text,
                    target=prompts.wanted,
                    id=prompt.id,
                    metadata={"category": prompt.category, "composed_sha256": composed_sha256},
                )
                for prompt in selection.prompts
            ],
            name=prompts.name,
            location=prompts.source,
        ),
        solver=mitigation(
            options.mitigation, options.system_prompt, options.system_as, options.replicate
        ),
        scorer=[
            refusal(
                options.scorer, options.judge_prompt, audit or 0.0, replicate=options.replicate
            ),
            outcome(),
            matcher(),
        ],
        config=GenerateConfig(temperature=0, max_tokens=MAX_TOKENS),
        cleanup=preflight.note_calls,
        early_stopping=preflight,
        fail_on_error=0.05,
        continue_on_fail=True,
        score_on_error=True,
        headline_metric=HeadlineMetric(scorer="refusal", metric="refusal_rate"),
        version=_version(measured),
        metadata={
            "orbench": {
                "package": version("orbench-inspect"),
                "prompt_set": prompts.name,
                "wanted": prompts.wanted,
                "source": prompts.source,
                "revision": prompts.revision,
                "data_sha256": prompts.sha256,
                "deviations": list(prompts.deviations),
                "construction": asdict(prompts.construction) if prompts.construction else None,
                "population": prompts.counts,
                "excluded": selection.excluded,
                "shard": options.shard,
                "whole": {"prompts": selection.whole, "sha256": selection.whole_sha256},
                "mitigation": composed.mitigation.id,
                "replicate": options.replicate,
                "system_as": options.system_as,
                "composed": composed.shown(),
                "product_sha256": hash_text(composed.product) if composed.product else None,
                "judge_prompt": judge_prompt.id if judge_prompt else None,
                **measured,
                "options": options.model_dump(),
            }
        },
        viewer=run_viewer(prompts.wanted),
    )


def validation(labelled: LabelledSet, options: ValidationOptions) -> Task:
    """Put labelled responses before the judge.

    Args:
        labelled: The responses and their labels.
        options: Which of them, under which judge prompt.

    Raises:
        ValueError: If the judge prompt is unknown or unusable.
    """
    judge_prompt = load_judge_prompt(options.judge_prompt)
    rows = sorted(labelled.rows, key=lambda row: row.id)
    Random(options.seed).shuffle(rows)
    samples = [as_sample(row) for row in rows[: options.first]]
    measured: dict[str, str | float | None] = {
        "labels_sha256": labelled.sha256,
        "judge_prompt_sha256": judge_prompt.sha256,
        "partial": options.partial,
        "matcher": own_list(),
    }
    preflight = Preflight(judge_prompt, allow_self_judge=True)
    return Task(
        dataset=MemoryDataset(samples, name="labelled", location=", ".join(options.labels)),
        solver=replay(),
        scorer=[
            # The responses are given: epochs would show nothing but the judge's own noise.
            refusal("judge", options.judge_prompt, once=False),
            outcome(),
            matcher(),
            agreement(),
            agreement("matcher"),
        ],
        model="none/none",
        cleanup=preflight.note_calls,
        early_stopping=preflight,
        continue_on_fail=True,
        score_on_error=True,
        headline_metric=HeadlineMetric(scorer="agreement", metric="kappa"),
        version=_version(measured),
        metadata={
            "orbench_validation": {
                "package": version("orbench-inspect"),
                "left_out": labelled.left_out,
                "judge_prompt": judge_prompt.id,
                **measured,
                "options": options.model_dump(),
            }
        },
        viewer=validation_viewer(),
    )


def _version(measured: dict[str, str | float | None]) -> str:
    return f"{TASK_VERSION}+{sha256(repr(measured).encode()).hexdigest()[:12]}"
