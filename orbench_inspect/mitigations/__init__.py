"""Second stop: system-prompt variants meant to change refusal, and the solver that applies one.

A mitigation is one text file in this folder; a person's own is a path.
"""

from dataclasses import dataclass
from pathlib import Path

from inspect_ai.model import ChatMessageSystem
from inspect_ai.solver import Generate, Solver, TaskState, solver

from orbench_inspect.text_files import (
    TextFile,
    hash_text,
    known_texts,
    load_text_file,
    read_text,
)

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class SystemPrompt:
    """What the model is told before it is asked."""

    mitigation: TextFile
    product: str | None
    """The product's own system prompt, to the last character; None if it has none."""

    @property
    def text(self) -> str | None:
        """Mitigation after product prompt, a blank line between them; None for nothing."""
        parts = [part for part in (self.product, self.mitigation.text) if part]
        return "\n\n".join(parts) or None

    @property
    def sha256(self) -> str | None:
        """Hash of the composed text, in hexadecimal; None for nothing."""
        return None if self.text is None else hash_text(self.text)


def load_mitigation(name: str) -> TextFile:
    """Load a mitigation by name, or from a file of one's own.

    Raises:
        ValueError: If it is unknown (the known ones are named) or unreadable.
    """
    return load_text_file(FOLDER, "mitigation", name)


def known_mitigations() -> tuple[str, ...]:
    """Names of the mitigations that come with the package."""
    return known_texts(FOLDER)


def compose(mitigation: str = "none", system_prompt: str | None = None) -> SystemPrompt:
    """Put a mitigation onto a product's system prompt.

    Args:
        mitigation: Name or file of the mitigation.
        system_prompt: File with the product's own system prompt, used as it is.

    Raises:
        ValueError: If either cannot be read, or the product's prompt is blank.
    """
    product = None
    if system_prompt is not None:
        product = read_text(Path(system_prompt).expanduser(), "system prompt")
        if not product.strip():
            raise ValueError(f"system prompt {system_prompt}: is blank; leave the option out")
    return SystemPrompt(load_mitigation(mitigation), product)


@solver
def mitigation(name: str = "none", system_prompt: str | None = None) -> Solver:
    """Tell the model the product's system prompt and a mitigation before it is asked.

    A system message that is already there is kept, and comes first.

    Args:
        name: Name or file of the mitigation.
        system_prompt: File with the product's own system prompt.
    """
    composed = compose(name, system_prompt).text

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if composed is None:
            return state
        first = state.messages[0] if state.messages else None
        if isinstance(first, ChatMessageSystem):
            state.messages[0] = ChatMessageSystem(content=f"{first.text}\n\n{composed}")
        else:
            state.messages.insert(0, ChatMessageSystem(content=composed))
        return state

    return solve
