"""`smooth`: perturbed copies of the prompt are answered, and their majority decides.

Source: SmoothLLM (Robey et al., arXiv 2310.03684), algorithm 1 with random swaps. The vote
there goes by a list of refusal keywords; here it goes by our own rules.
"""

import random
import string
from collections.abc import Sequence

from inspect_ai.model import ChatMessage
from inspect_ai.solver import TaskState
from inspect_ai.util import collect

from orbench_inspect.mitigations.asking import Ask
from orbench_inspect.mitigations.composed import Composed
from orbench_inspect.refusal_rules import match


async def smooth(composed: Composed, state: TaskState, ask: Ask) -> TaskState:
    """Answer the copies and give the first response of the majority.

    The perturbations are seeded by the prompt and the copy's number. A blocked copy votes
    for refusal; one whose response the rules cannot tell does not vote. The prompt counts
    as declined if more than half of all copies decline. The votes are in the sample's
    metadata under `smooth`.
    """
    text = state.input_text
    mitigation = composed.mitigation
    copies = [perturb(text, mitigation.share, number) for number in range(mitigation.copies)]
    asked = [composed.onto(_replaced(state, copy)) for copy in copies]
    answers = await collect(*(ask(messages) for messages in asked))
    votes = [_vote(answer) for answer in answers]
    majority = "refused" if 2 * votes.count("refused") > len(votes) else "answered"
    state.metadata["smooth"] = votes
    return ask.answered(answers[_first(votes, majority)])


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


def _replaced(state: TaskState, text: str) -> list[ChatMessage]:
    return [
        message.model_copy(update={"content": text}) if message is state.user_prompt else message
        for message in state.messages
    ]


def _vote(answer: TaskState) -> str:
    if answer.output.stop_reason == "content_filter":
        return "refused"
    return match(answer.output.completion).decision


def _first(votes: Sequence[str], majority: str) -> int:
    return votes.index(majority) if majority in votes else 0
