"""Whether a new prompt is one of the published ones."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from orbench_inspect.prompt_sets import OR_BENCH
from orbench_inspect.prompt_sets.reading import read_rows
from orbench_inspect.prompt_sets.records import CATEGORIES, Row
from orbench_inspect.refusal_rules import normalise

_FINGERPRINTS = Path(__file__).parents[1] / "prompt_sets" / "fingerprints"


def published(folder: str | None = None) -> Callable[[str], str | None]:
    """A test of prompts: the name of the published set that one stands in, or None.

    Hard and toxic are known by fingerprints of category and text, so that a prompt is tried
    under each category and must be equal to the letter. With a folder, the texts of all
    files in it are compared whatever their case, spacing and quotation marks.

    Args:
        folder: Folder with OR-Bench's files.

    Raises:
        ValueError: If the folder holds none of them, or one cannot be read.
    """
    known: dict[str, str] = {}
    for prompt_set in OR_BENCH:
        path = _FINGERPRINTS / f"{prompt_set.name}.txt"
        if path.is_file():
            for print_ in path.read_text(encoding="ascii").split():
                known.setdefault(print_, prompt_set.name)
    texts = _texts(Path(folder).expanduser()) if folder is not None else {}

    def found(text: str) -> str | None:
        for category in CATEGORIES:
            name = known.get(Row(text, category).fingerprint[:12])
            if name is not None:
                return name
        return texts.get(_key(text))

    return found


def _texts(folder: Path) -> dict[bytes, str]:
    files = [(s.name, folder / s.file) for s in OR_BENCH if (folder / s.file).is_file()]
    if not files:
        names = ", ".join(s.file for s in OR_BENCH)
        raise ValueError(f"published: {folder} holds none of {names}")
    return {_key(row.prompt): name for name, path in files for row in read_rows(path)}


def _key(text: str) -> bytes:
    return sha256(normalise(text).encode()).digest()[:16]
