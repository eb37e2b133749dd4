"""How far moderators agree."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import nan

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


def decision_of(vote: str | None) -> str:
    """What one moderator's vote alone decides."""
    return "undecided" if vote is None else "safe" if vote == NONE else "toxic"
