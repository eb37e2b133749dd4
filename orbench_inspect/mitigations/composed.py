"""A mitigation put onto a product's own system prompt: what the model is told and asked."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentText,
)

from orbench_inspect.mitigations.catalogue import Mitigation, load_mitigation
from orbench_inspect.text_files import hash_text, read_text

SystemAs = Literal["system", "user"]
"""How system text is sent: as a system message, or at the head of the first user message."""


@dataclass(frozen=True)
class Composed:
    """What the model is told beside its prompt."""

    mitigation: Mitigation
    product: str | None = None
    """The product's own system prompt, to the last character; None if it has none."""
    system_as: SystemAs = "system"

    @property
    def system(self) -> str | None:
        """Mitigation after product prompt, a blank line between them; None for nothing."""
        parts = [part for part in (self.product, self.mitigation.system) if part]
        return "\n\n".join(parts) or None

    @property
    def may_send_system(self) -> bool:
        """Whether any of its calls sends system text."""
        return self.system is not None or bool(self.mitigation.texts)

    @property
    def sha256(self) -> str:
        """Hash of all that changes what a model is asked, in hexadecimal."""
        # Where no system text is sent, the way of sending makes no other arm.
        system_as = self.system_as if self.may_send_system else None
        acts = {"product": self.product, "system_as": system_as, **self.mitigation.acts()}
        return hash_text(json.dumps(acts, sort_keys=True, ensure_ascii=False))

    def with_system(self, text: str) -> "Composed":
        """The same, told `text` in place of the mitigation's own system text."""
        return replace(self, mitigation=self.mitigation.model_copy(update={"system": text}))

    def onto(self, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
        """Put it onto a conversation.

        A system message that the conversation begins with is kept, and comes first. The last
        user message is the one that `before` and `after` enclose.
        """
        if self.product is None and self.mitigation.does_nothing:
            return list(messages)
        rest = list(messages)
        told = [rest.pop(0).text] if rest and isinstance(rest[0], ChatMessageSystem) else []
        asked = max((i for i, m in enumerate(rest) if isinstance(m, ChatMessageUser)), default=-1)
        if asked >= 0:
            rest[asked] = _enclosed(rest[asked], self.mitigation.before, self.mitigation.after)
        shown: list[ChatMessage] = []
        for turn in self.mitigation.turns:
            shown += [
                ChatMessageUser(content=turn.user),
                ChatMessageAssistant(content=turn.assistant),
            ]
        system = "\n\n".join(part for part in (*told, self.system) if part)
        return _told(system, [*shown, *rest], self.system_as)

    def shown(self) -> list[dict[str, str]]:
        """The conversation as it is sent, with `<prompt>` where the prompt goes."""
        sent = self.onto([ChatMessageUser(content="<prompt>")])
        return [{"role": message.role, "content": message.text} for message in sent]


def compose(
    mitigation: str = "none", system_prompt: str | None = None, system_as: SystemAs = "system"
) -> Composed:
    """Put a mitigation onto a product's system prompt.

    Args:
        mitigation: Name or file of the mitigation.
        system_prompt: File with the product's own system prompt, used as it is.
        system_as: How system text is sent; `user` for models that take no system message.

    Raises:
        ValueError: If either cannot be read, or the product's prompt is blank.
    """
    product = None
    if system_prompt is not None:
        product = read_text(Path(system_prompt).expanduser(), "system prompt")
        if not product.strip():
            raise ValueError(f"system prompt {system_prompt}: is blank; leave the option out")
    return Composed(load_mitigation(mitigation), product, system_as)


def _told(system: str, messages: list[ChatMessage], system_as: SystemAs) -> list[ChatMessage]:
    if not system:
        return messages
    if system_as == "system":
        return [ChatMessageSystem(content=system), *messages]
    for index, message in enumerate(messages):
        if isinstance(message, ChatMessageUser):
            return [*messages[:index], _enclosed(message, system, ""), *messages[index + 1 :]]
    return [ChatMessageUser(content=system), *messages]


def _enclosed(message: ChatMessage, before: str, after: str) -> ChatMessage:
    if not before and not after:
        return message
    if isinstance(message.content, str):
        text = "\n\n".join(part for part in (before, message.content, after) if part)
        return message.model_copy(update={"content": text})
    head = [ContentText(text=before)] if before else []
    tail = [ContentText(text=after)] if after else []
    return message.model_copy(update={"content": [*head, *message.content, *tail]})
