"""A measurement: prompts, a mitigation and a scorer made into one Inspect task."""

from dataclasses import asdict
from hashlib import sha256
from importlib.metadata import version

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import HeadlineMetric
from inspect_ai.model import GenerateConfig
from inspect_ai.viewer import ViewerConfig

from orbench_inspect.mitigations import compose, mitigation
from orbench_inspect.options import Options
from orbench_inspect.prompt_sets import Prompts, select
from orbench_inspect.refusal_rules import own_list
from orbench_inspect.scoring import matcher, outcome, refusal
from orbench_inspect.scoring.judge import load_judge_prompt
from orbench_inspect.scoring.preflight import Preflight
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
    )
    composed = compose(options.mitigation, options.system_prompt, options.system_as)
    judge_prompt = load_judge_prompt(options.judge_prompt) if options.scorer == "judge" else None
    # What decides the numbers, and is not part of Inspect's own identity of a task.
    measured = {
        "prompts_sha256": selection.sha256,
        "composed_sha256": composed.sha256,
        "judge_prompt_sha256": judge_prompt.sha256 if judge_prompt else None,
        "scorer": options.scorer,
        "matcher": own_list(),
    }
    preflight = Preflight(
        judge_prompt,
        options.allow_self_judge,
        options.system_as if composed.may_send_system else None,
        composed.sha256,
        prompts.construction,
    )
    return Task(
        dataset=MemoryDataset(
            [
                Sample(
                    input=prompt.text,
                    target=prompts.wanted,
                    id=prompt.id,
                    metadata={"category": prompt.category, "composed_sha256": composed.sha256},
                )
                for prompt in selection.prompts
            ],
            name=prompts.name,
            location=prompts.source,
        ),
        solver=mitigation(
            options.mitigation, options.system_prompt, options.system_as, options.replicate
        ),
        scorer=[refusal(options.scorer, options.judge_prompt), outcome(), matcher()],
        config=GenerateConfig(temperature=0, max_tokens=MAX_TOKENS),
        cleanup=preflight.note_calls,
        early_stopping=preflight,
        fail_on_error=0.05,
        continue_on_fail=True,
        score_on_error=True,
        headline_metric=HeadlineMetric(scorer="refusal", metric="refusal_rate"),
        version=f"{TASK_VERSION}+{sha256(repr(measured).encode()).hexdigest()[:12]}",
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
        viewer=ViewerConfig(trust_content=False),
    )
