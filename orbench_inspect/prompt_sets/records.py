"""What a prompt set is, and the sets there are: one record each."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal

from orbench_inspect.prompt_sets.provenance import Construction

Wanted = Literal["answer", "refuse"]
"""What should happen to the prompts of a set."""


@dataclass(frozen=True)
class Row:
    """A prompt as its file has it."""

    prompt: str
    category: str

    @property
    def fingerprint(self) -> str:
        """SHA-256 of category and prompt, in hexadecimal."""
        return sha256(f"{self.category}\n{self.prompt}".encode()).hexdigest()


@dataclass(frozen=True)
class Prompt:
    """A prompt with its stable id."""

    id: str
    """Set, category, content hash, and an ordinal where the same row stands repeatedly."""
    text: str
    category: str
    fingerprint: str


@dataclass(frozen=True)
class Hub:
    """Where a set is on the Hugging Face Hub."""

    repo: str
    revision: str
    config: str


@dataclass(frozen=True)
class PromptSet:
    """A published set of prompts. A record and a task in `tasks.py` add one."""

    name: str
    wanted: Wanted
    counts: Mapping[str, int]
    """Prompts of each category, as published."""
    file: str
    """The set's file in a folder with the upstream files, or in the package."""
    hub: Hub | None = None
    """None for the sets that come with the package."""
    sha256: str | None = None
    """Content hash (`content_hash`), where the content is known."""

    @property
    def total(self) -> int:
        """Number of prompts, as published."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class Prompts:
    """A prompt set as it was read."""

    name: str
    wanted: Wanted
    prompts: Sequence[Prompt]
    source: str
    """Where it was read: hub, bundled, or the folder or file."""
    sha256: str
    """Content hash of all prompts of the set."""
    revision: str | None = None
    """Revision on the Hub; None for files, whose content hash says what they are."""
    deviations: Sequence[str] = field(default=())
    """How it differs from the published set, where that was allowed."""
    construction: Construction | None = None
    """Which models made it, where a file beside it says so."""

    def __hash__(self) -> int:
        """By what its content hash stands for: hashing every prompt would take long."""
        return hash((self.name, self.sha256))

    @property
    def counts(self) -> dict[str, int]:
        """Prompts of each category, by category name."""
        return dict(sorted(Counter(p.category for p in self.prompts).items()))


@dataclass(frozen=True)
class Identified:
    """The prompts of a set with their ids."""

    prompts: tuple[Prompt, ...]
    sha256: str
    """Content hash."""

    @classmethod
    def of(cls, set_name: str, rows: Sequence[Row]) -> "Identified":
        """Identify rows."""
        prompts = tuple(identify(set_name, rows))
        return cls(prompts, content_hash([prompt.fingerprint for prompt in prompts]))


def content_hash(fingerprints: Sequence[str]) -> str:
    """Hash of a set's content, whatever the order of its rows, in hexadecimal."""
    return sha256("\n".join(sorted(fingerprints)).encode()).hexdigest()


def identify(set_name: str, rows: Sequence[Row]) -> list[Prompt]:
    """Give every row its stable id, such as `hard-illegal-1f3a90c2b7de`.

    The id depends on the set, the category and the prompt alone; equal rows are told
    apart by an ordinal, `-2` for the second.
    """
    seen: Counter[str] = Counter()
    prompts = []
    for row in rows:
        fingerprint = row.fingerprint
        stem = f"{set_name}-{_slug(row.category)}-{fingerprint[:12]}"
        seen[stem] += 1
        id = stem if seen[stem] == 1 else f"{stem}-{seen[stem]}"
        prompts.append(Prompt(id, row.prompt, row.category, fingerprint))
    return prompts


def _slug(text: str) -> str:
    return re.sub(r"[^\w-]+", "_", text.strip())[:40] or "_"


def _or_bench(config: str) -> Hub:
    return Hub("bench-llm/or-bench", "e36d8b80e81837c8a8f264bbb2a49f1b32c7e272", config)


def _counts(*numbers: int) -> dict[str, int]:
    return dict(zip(CATEGORIES, numbers, strict=True))


CATEGORIES = (
    "deception",
    "harassment",
    "harmful",
    "hate",
    "illegal",
    "privacy",
    "self-harm",
    "sexual",
    "unethical",
    "violence",
)
"""OR-Bench's ten categories."""

# Sizes are those of the files at that revision. The content of the full set has never been
# hashed by us: its sizes are checked and the hash found is recorded.
HARD = PromptSet(
    name="hard",
    wanted="answer",
    counts=_counts(72, 41, 106, 54, 527, 199, 63, 66, 125, 66),
    file="or-bench-hard-1k.csv",
    hub=_or_bench("or-bench-hard-1k"),
    sha256="50d99e8eef7f34168a955bae9eab226a46160f7eebbf8a04fb8f31507857467d",
)
TOXIC = PromptSet(
    name="toxic",
    wanted="refuse",
    counts=_counts(83, 76, 30, 58, 50, 61, 92, 73, 61, 71),
    file="or-bench-toxic.csv",
    hub=_or_bench("or-bench-toxic"),
    sha256="57ef4ec9984e72a4feec49ccdcdb27e62835a86b55caa6584a79b42cdb49b84f",
)
FULL = PromptSet(
    name="full",
    wanted="answer",
    counts=_counts(8040, 3295, 16083, 6160, 9349, 9146, 5094, 3844, 12513, 6835),
    file="or-bench-80k.csv",
    hub=_or_bench("or-bench-80k"),
)
OR_BENCH = (HARD, TOXIC, FULL)

BUNDLED = {
    "hard": PromptSet(
        name="bundled_safe",
        wanted="answer",
        counts=_counts(*[10] * 10),
        file="safe.csv",
        sha256="75ee3356774952df4d34c85ac41fab7ad97ec11e5aacf29ef2a09c85cf1a8d50",
    ),
    "toxic": PromptSet(
        name="bundled_harmful",
        wanted="refuse",
        counts=_counts(*[5] * 10),
        file="harmful.csv",
        sha256="cd5aa0293727af8b238306efcd66adcb57584e3725a488296fb8ea7f2adab701",
    ),
}
"""The package's own sets, by the task whose place they take under `source=bundled`."""
