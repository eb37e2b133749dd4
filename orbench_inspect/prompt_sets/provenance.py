"""Where a file of constructed prompts came from: `provenance.json` beside it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

PROVENANCE = "provenance.json"


@dataclass(frozen=True)
class Construction:
    """Which models made a set of prompts."""

    id: str
    """Of the construction."""
    models: Mapping[str, Sequence[str]]
    """By role: generator, moderator, answerer, selector, grader."""
    altered: bool
    """Whether the file is no longer what was constructed."""

    def roles_of(self, model: str) -> list[str]:
        """The roles a model had, known by its name, whichever provider served it."""
        name = _name(model)
        return [role for role, names in self.models.items() if name in map(_name, names)]


def read_provenance(file: Path) -> Construction | None:
    """What a file of prompts was constructed by; None if nothing beside it says so.

    Raises:
        ValueError: If `provenance.json` names the file and cannot be read.
    """
    path = file.parent / PROVENANCE
    if not path.is_file():
        return None
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        files = told.get("files") if isinstance(told, dict) else None
        entry = files.get(file.name) if isinstance(files, dict) else None
        if entry is None:
            return None
        with file.open("rb") as stream:
            altered = file_digest(stream, "sha256").hexdigest() != entry["sha256"]
        models = {str(role): [str(n) for n in names] for role, names in told["models"].items()}
        return Construction(str(told["id"]), models, altered)
    except (OSError, ValueError, KeyError, TypeError) as ex:
        raise ValueError(
            f"{path}: cannot be read ({type(ex).__name__}: {ex}); it says which models made "
            f"{file.name}. Restore it, or move the prompts out of this folder"
        ) from ex


def _name(model: str) -> str:
    return model.rpartition("/")[2].lower()
