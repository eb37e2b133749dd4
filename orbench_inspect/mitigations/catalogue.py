"""The mitigations there are: one text file each, loaded into one small model."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from orbench_inspect.text_files import known_texts, load_text_file
from orbench_inspect.yaml_files import wrong_fields

FOLDER = Path(__file__).parent

# The texts that a method asks with; `prompt` has none, its text is the system message.
_TEXTS = {
    "prompt": frozenset[str](),
    "route": frozenset({"classify", "harmful", "harmless"}),
    "response_check": frozenset({"review", "unsafe", "needless"}),
    "smooth": frozenset[str](),
}


class Turn(BaseModel):
    """An exchange shown before the prompt, as if it had happened."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    user: str
    assistant: str


class Mitigation(BaseModel):
    """A mitigation: front matter, and the system text as the body of its file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    idea: str = ""
    """What it does, in a sentence or two."""
    expected: str = ""
    """What it is expected to change."""
    source: str = ""
    """Where the idea is from."""
    wording: int = 1
    """Which wording of the idea this is."""
    system: str = ""
    """Put after the product's own system prompt."""
    before: str = ""
    """Put before the user's text."""
    after: str = ""
    """Put after the user's text."""
    turns: tuple[Turn, ...] = ()
    """Exchanges shown before the prompt."""
    method: Literal["prompt", "route", "response_check", "smooth"] = "prompt"
    """`prompt`, or the procedure that uses the other fields."""
    texts: dict[str, str] = Field(default_factory=dict)
    """What a procedure asks with."""
    copies: int = Field(default=5, ge=1)
    """`smooth`: how many perturbed copies of the prompt are answered."""
    share: float = Field(default=0.05, gt=0, le=1)
    """`smooth`: share of a prompt's characters that are changed in a copy."""

    @property
    def does_nothing(self) -> bool:
        """Whether a model is asked as it would be without it."""
        texts = self.system or self.before or self.after or self.turns
        return self.method == "prompt" and not texts

    @model_validator(mode="after")
    def _has_the_texts_of_its_method(self) -> "Mitigation":
        wanted = _TEXTS[self.method]
        if self.texts.keys() != wanted:
            raise ValueError(f"texts must be: {', '.join(sorted(wanted)) or 'none'}")
        if self.texts and self.system:
            raise ValueError(f"{self.method} asks with its texts; leave the body empty")
        return self

    def acts(self) -> dict[str, object]:
        """All that changes what a model is asked: what is hashed, and what is not mere notes."""
        return self.model_dump(exclude={"id", "idea", "expected", "source", "wording"})


def load_mitigation(name: str) -> Mitigation:
    """Load a mitigation by name, or from a file of one's own.

    Raises:
        ValueError: If it is unknown (the known ones are named), unreadable, or its front
            matter does not say what a mitigation's can.
    """
    file = load_text_file(FOLDER, "mitigation", name)
    if name != file.id and file.id in known_mitigations():
        raise ValueError(
            f"mitigation {name}: its id '{file.id}' is that of a mitigation of the package; "
            "give it an id of its own in front matter"
        )
    if "system" in file.meta:
        raise ValueError(f"mitigation {name}: system text is what follows the front matter")
    try:
        found = Mitigation.model_validate({**file.meta, "id": file.id, "system": file.text})
    except ValidationError as ex:
        problems = "; ".join(wrong_fields(ex, "front matter"))
        raise ValueError(f"mitigation {name}: {problems}") from ex
    if found.does_nothing and found.id != "none":
        raise ValueError(f"mitigation {name}: it does nothing; write the text of one")
    return found


def known_mitigations() -> tuple[str, ...]:
    """Names of the mitigations that come with the package."""
    return known_texts(FOLDER)
