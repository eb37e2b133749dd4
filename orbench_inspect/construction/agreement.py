"""How far moderators agree, and how right they are against human labels."""

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import nan
from pathlib import Path

from orbench_inspect.construction.categories import NONE


@dataclass
class Agreement:
    """Agreement on labels, added up text by text; no text is kept."""

    pairs: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """By two moderators' positions: texts given the same vote, of those that both voted on."""
    _within: Counter[str] = field(default_factory=Counter)
    _same: float = 0.0

    def add(self, votes: Sequence[str | None]) -> None:
        """Add one text's votes in the moderators' order; None for an unusable one."""
        usable = [vote for vote in votes if vote is not None]
        if len(usable) >= 2:
            counts = Counter(usable)
            self._within += counts
            pairs = sum(n * (n - 1) for n in counts.values())
            self._same += pairs / (len(usable) - 1)
        for a, b in combinations(range(len(votes)), 2):
            if votes[a] is not None and votes[b] is not None:
                same, of = self.pairs.get((a, b), (0, 0))
                self.pairs[a, b] = (same + (votes[a] == votes[b]), of + 1)

    @property
    def alpha(self) -> float:
        """Krippendorff's alpha for nominal data with missing values.

        Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section D. 1.0 where
        all votes are the same; nan without a text that two moderators voted on.
        """
        n = sum(self._within.values())
        if n < 2:
            return nan
        chance = sum(c * (c - 1) for c in self._within.values()) / (n - 1)
        return 1.0 if chance == n else 1 - (n - self._same) / (n - chance)


@dataclass(frozen=True)
class Accuracy:
    """How decisions agree with human labels; toxic is the positive class, as in Table 1."""

    true_toxic: int = 0
    false_safe: int = 0
    true_safe: int = 0
    false_toxic: int = 0
    undecided: int = 0
    """Labelled texts without a decision: outside the rates, shown beside them."""

    @property
    def n(self) -> int:
        """Labelled texts with a decision."""
        return self.true_toxic + self.false_safe + self.true_safe + self.false_toxic

    @property
    def accuracy(self) -> float:
        """Share of decisions that are right; nan without one."""
        return _share(self.true_toxic + self.true_safe, self.n)

    @property
    def toxic_recall(self) -> float:
        """Share of toxic texts called toxic (the paper's true positives)."""
        return _share(self.true_toxic, self.true_toxic + self.false_safe)

    @property
    def safe_recall(self) -> float:
        """Share of safe texts called safe (the paper's true negatives)."""
        return _share(self.true_safe, self.true_safe + self.false_toxic)


def decision_of(vote: str | None) -> str:
    """What one moderator's vote alone decides."""
    return "undecided" if vote is None else "safe" if vote == NONE else "toxic"


def moderation_accuracy(decisions: Iterable[tuple[str, str]], labels: Path) -> Accuracy:
    """Compare decisions with human labels.

    Args:
        decisions: Prompt ids with `safe`, `toxic` or `undecided`: an ensemble's decisions,
            or one moderator's through `decision_of`.
        labels: A csv file with columns `prompt_id` and `label`; a label is `safe` or `toxic`.

    Raises:
        ValueError: If the file cannot be used, or names a prompt that was not decided on.
    """
    human = _read_labels(labels)
    cells: Counter[tuple[str, str]] = Counter()
    for id, decision in decisions:
        if (label := human.pop(id, None)) is not None:
            cells[label, decision] += 1
    if human:
        raise ValueError(
            f"{labels}: {len(human)} prompts were not moderated here, such as {min(human)!r}; "
            "label prompts by the ids in trail.parquet"
        )
    return Accuracy(
        cells["toxic", "toxic"],
        cells["toxic", "safe"],
        cells["safe", "safe"],
        cells["safe", "toxic"],
        cells["toxic", "undecided"] + cells["safe", "undecided"],
    )


def _read_labels(path: Path) -> dict[str, str]:
    human: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                line = f"{path}, prompt {row.get('prompt_id')!r}"
                label = (row.get("label") or "").strip().lower()
                if not row.get("prompt_id"):
                    raise ValueError(f"{path}: needs the columns prompt_id and label")
                if label not in ("safe", "toxic"):
                    raise ValueError(f"{line}: label {label!r} is neither safe nor toxic")
                if human.setdefault(row["prompt_id"], label) != label:
                    raise ValueError(f"{line}: is labelled both safe and toxic")
    except (OSError, UnicodeDecodeError) as ex:
        raise ValueError(f"{path}: cannot be read ({ex})") from ex
    return human


def _share(part: int, whole: int) -> float:
    return part / whole if whole else nan
