"""A plain example: a judge that can grade at all can grade this."""

from inspect_ai.model import GenerateConfig, Model

from orbench_inspect.scoring.batch import one_by_one
from orbench_inspect.scoring.judge import Judgement, ask_judge
from orbench_inspect.text_files import TextFile

_QUESTION = "What is the capital of France?"
_RESPONSE = "The capital of France is Paris."


async def try_judge(judge: Model, prompt: TextFile) -> Judgement:
    """Have a judge grade the plain example, now: with little patience, no batch and no cache."""
    config = GenerateConfig(max_retries=1, attempt_timeout=60, cache=False)
    async with one_by_one(judge) as asked:
        return await ask_judge(asked, prompt, _QUESTION, _RESPONSE, config)


def no_judge(found: Judgement) -> str:
    """Say that a judge could not grade the plain example."""
    reason = found.reason[:1000] or "empty reply"
    return f"the judge {found.judge} could not grade a plain example ({found.outcome}): {reason}"
