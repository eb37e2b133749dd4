"""Asking the evaluated model in the course of one sample."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

from inspect_ai.model import ChatMessage
from inspect_ai.solver import Generate, TaskState

from orbench_inspect.reasoning import strip_reasoning


@dataclass(frozen=True)
class Ask:
    """Asks with the run's own settings, without touching the sample until it is answered."""

    state: TaskState
    generate: Generate
    cached: bool = True
    """Whether the run's cache, if it has one, may answer."""

    async def __call__(self, messages: Sequence[ChatMessage]) -> TaskState:
        """Ask, and return the conversation with its output."""
        inner = deepcopy(self.state)
        inner.messages = list(messages)
        if self.cached:
            return await self.generate(inner)
        return await self.generate(inner, cache=False)

    def answered(self, inner: TaskState) -> TaskState:
        """Make a conversation the sample's own, and its output what is scored."""
        self.state.messages, self.state.output = inner.messages, inner.output
        return self.state


def one_word(reply: str, words: Sequence[str]) -> str | None:
    """The one of several words that a reply consists of or settles on, in lower case.

    None if it holds none of them, more than one, or a negation.
    """
    said = {w.strip(".,:;!?*_`\"'()[]").lower() for w in strip_reasoning(reply).split()}
    found = said & set(words)
    negated = any(word in ("not", "never", "neither", "nor") or "n't" in word for word in said)
    return found.pop() if len(found) == 1 and not negated else None
