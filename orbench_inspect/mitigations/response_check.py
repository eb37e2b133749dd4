"""`response_check`: the model reviews its own answer, and answers again if need be."""

from inspect_ai.model import ChatMessageUser
from inspect_ai.solver import TaskState

from orbench_inspect.as_data import as_data
from orbench_inspect.mitigations.asking import Ask, one_word
from orbench_inspect.mitigations.composed import Composed
from orbench_inspect.reasoning import strip_reasoning


async def response_check(composed: Composed, state: TaskState, ask: Ask) -> TaskState:
    """Answer, review, and answer again if the review says so.

    What was found (`unsafe`, `needless`, `good` or `unclear`) is in the sample's metadata
    under `response_check`; only the first two lead to another answer. A response that was
    blocked or is empty is not reviewed.
    """
    texts = composed.mitigation.texts
    first = await ask(composed.onto(state.messages))
    said = strip_reasoning(first.output.completion)
    if not said.strip() or first.output.stop_reason == "content_filter":
        return ask.answered(first)
    exchange = as_data(request=state.user_prompt.text, response=said)
    review = await ask([ChatMessageUser(content=f"{texts['review']}\n\n{exchange}")])
    found = one_word(review.output.completion, ["unsafe", "needless", "good"])
    state.metadata["response_check"] = found or "unclear"
    if found not in ("unsafe", "needless"):
        return ask.answered(first)
    return ask.answered(await ask(composed.with_system(texts[found]).onto(state.messages)))
