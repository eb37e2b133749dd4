"""`route`: the model says whether a request is harmful, and answers under one of two prompts."""

from inspect_ai.model import ChatMessageUser
from inspect_ai.solver import TaskState

from orbench_inspect.as_data import as_data
from orbench_inspect.mitigations.asking import Ask, one_word
from orbench_inspect.mitigations.composed import Composed


async def route(composed: Composed, state: TaskState, ask: Ask) -> TaskState:
    """Classify, then answer.

    What was found (`harmful`, `harmless` or `unclear`) is in the sample's metadata under
    `route`; where it is unclear the model answers under the product's prompt alone.
    """
    texts = composed.mitigation.texts
    question = f"{texts['classify']}\n\n{as_data(request=state.user_prompt.text)}"
    inner = await ask([ChatMessageUser(content=question)])
    found = one_word(inner.output.completion, ["harmful", "harmless"])
    state.metadata["route"] = found or "unclear"
    chosen = composed.with_system(texts[found] if found else "")
    return ask.answered(await ask(chosen.onto(state.messages)))
