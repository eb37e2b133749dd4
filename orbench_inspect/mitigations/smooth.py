"""`smooth`: perturbed copies of the prompt are answered, and their majority decides.

Source: SmoothLLM (Robey et al., arXiv 2310.03684), algorithm 1 with random swaps. The vote
there goes by a list of refusal keywords; here it goes by our own rules.
"""

import random
import string
from collections.abc import Sequence

from inspect_ai.model import ChatMessage, Content, ContentText
from inspect_ai.solver import TaskState
from inspect_ai.util import collect

from orbench_inspect.mitigations.asking import Ask
from orbench_inspect.mitigations.composed import Composed
from orbench_inspect.reasoning import strip_reasoning
from orbench_inspect.refusal_rules import match


async def smooth(composed: Composed, state: TaskState, ask: Ask) -> TaskState:
    """Answer the copies and give the first response of the majority.

    The perturbations are seeded by the prompt and the copy's number. A blocked copy votes
    for refusal; one whose response the rules cannot tell does not vote. The prompt counts
    as declined if more than half of all copies decline. The votes are in the sample's
    metadata under `smooth`.
    """
    mitigation = composed.mitigation
    asked = [
        composed.onto(_perturbed(state, mitigation.share, number))
        for number in range(mitigation.copies)
    ]
    answers = await collect(*(ask(messages) for messages in asked))
    votes = [_vote(answer) for answer in answers]
    declined = 2 * votes.count("refused") > len(votes)
    state.metadata["smooth"] = votes
    return ask.answered(
        answers[_first(votes, ("refused",) if declined else ("answered", "unknown"))]
    )


def perturb(text: str, share: float, number: int) -> str:
    """Replace a share of a text's characters by random printable ones.

    Args:
        text: The text.
        share: Share of its characters to replace; at least one is.
        number: Number of the copy; each has its own replacements, the same on every run.
    """
    chance = random.Random(f"{number}:{text}")
    characters = list(text)
    places = chance.sample(range(len(text)), min(len(text), max(1, round(share * len(text)))))
    for place in places:
        characters[place] = chance.choice(string.ascii_letters + string.digits + " .,;!?")
    return "".join(characters)


def _perturbed(state: TaskState, share: float, number: int) -> list[ChatMessage]:
    """The conversation with the text of its last user message perturbed."""
    asked = state.user_prompt
    content: str | list[Content]
    if isinstance(asked.content, str):
        content = perturb(asked.content, share, number)
    else:
        content = [
            part.model_copy(update={"text": perturb(part.text, share, number)})
            if isinstance(part, ContentText)
            else part
            for part in asked.content
        ]
    copy = asked.model_copy(update={"content": content})
    return [copy if message is asked else message for message in state.messages]


def _vote(answer: TaskState) -> str:
    if answer.output.stop_reason == "content_filter":
        return "refused"
    return match(strip_reasoning(answer.output.completion)).decision


def _first(votes: Sequence[str], wanted: Sequence[str]) -> int:
    return next((votes.index(vote) for vote in wanted if vote in votes), 0)
