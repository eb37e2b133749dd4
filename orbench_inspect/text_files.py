"""Texts kept outside code: judge prompts, mitigations and products' system prompts.

A file of ours begins with YAML front matter between `---` lines; the rest is the text, used
literally: no placeholder in it is ever filled in.
"""

import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True)
class TextFile:
    """A text with its front matter."""

    id: str
    """The name it is asked for by, or the file's stem where front matter names none."""
    text: str
    """What follows the front matter, without its final line break."""
    meta: dict[str, Any]
    """The front matter."""
    sha256: str
    """Hash of `text`, in hexadecimal."""


def load_text_file(folder: Path, kind: str, name: str) -> TextFile:
    """Load a text by the name it has in `folder`, or from a path.

    Args:
        folder: Where the texts that come with the package are.
        kind: What the text is called in error messages, such as "mitigation".
        name: Name of a text in `folder`, or the path of a file: anything with a folder
            separator or ending in `.md` or `.txt` is taken for a path.

    Raises:
        ValueError: If there is no such text, naming the known ones, or if the file
            cannot be read.
    """
    if "/" in name or "\\" in name or name.endswith((".md", ".txt")):
        return _parse(Path(name).expanduser(), kind)
    known = known_texts(folder)
    if name not in known:
        raise ValueError(
            f"unknown {kind} '{name}'; known: {', '.join(known)} "
            f"(or give the path of a file, such as ./{name}.md)"
        )
    return _parse(folder / f"{name}.md", kind)


@cache
def known_texts(folder: Path) -> tuple[str, ...]:
    """Names of the texts in a folder, sorted."""
    return tuple(sorted(path.stem for path in folder.glob("*.md") if path.stem != "README"))


def edition(id: object, sha256: object) -> str:
    """A text's id and the beginning of its hash, as tables show them; empty without a hash."""
    return f"{id}@{sha256[:6]}" if isinstance(sha256, str) and sha256 else ""


def hash_text(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes, in hexadecimal."""
    return sha256(text.encode()).hexdigest()


def read_text(path: Path, kind: str) -> str:
    """Read a text file without losing a character of it, save a byte order mark.

    Raises:
        ValueError: If the file is missing, not readable, or not UTF-8.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return file.read()
    except UnicodeDecodeError as ex:
        raise ValueError(f"{kind} {path}: not UTF-8 at byte {ex.start}; save it as UTF-8") from ex
    except OSError as ex:
        raise ValueError(f"{kind} {path}: cannot be read ({ex.strerror or ex})") from ex


def _parse(path: Path, kind: str) -> TextFile:
    raw = read_text(path, kind).replace("\r\n", "\n")
    meta: Any = {}
    if re.match(r"---[ \t]*(?:\n|\Z)", raw):
        parts = re.match(r"---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", raw, re.DOTALL | re.MULTILINE)
        if parts is None:
            raise ValueError(f"{kind} {path}: its front matter has no closing '---' line")
        head, raw = parts.group(1), raw[parts.end() :]
        try:
            meta = yaml.safe_load(head) or {}
        except yaml.YAMLError as ex:
            raise ValueError(f"{kind} {path}: its front matter is not YAML ({ex})") from ex
        if not isinstance(meta, dict):
            raise ValueError(f"{kind} {path}: its front matter must be 'key: value' lines")
    text = raw.strip("\n")
    return TextFile(str(meta.get("id", path.stem)), text, meta, hash_text(text))
