"""Duplicates: equal texts always, near duplicates from a stated similarity."""

from hashlib import sha256
from typing import Any

from orbench_inspect.refusal_rules import normalise

SHINGLE = 5
"""Characters of a shingle; similarity is the Jaccard index of two texts' sets of them."""
PERMUTATIONS = 128
# With 32 bands of 4 rows, 99 of 100 pairs at 0.8 become candidates; candidates are then compared.
_BANDS = 32
_SEED = 42


class Exact:
    """Texts seen so far, by 16 bytes of hash each."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def add(self, text: str) -> bool:
        """Note a text; False if it was there already."""
        key = sha256(text.encode()).digest()[:16]
        known = key in self._seen
        self._seen.add(key)
        return not known


class Near:
    """Texts seen so far, by MinHash: some 2 KB each."""

    def __init__(self, threshold: float) -> None:
        """Begin with none.

        Args:
            threshold: Estimated Jaccard similarity from which two texts are near duplicates.
        """
        import rensa

        self._index: Any = rensa.RMinHashDeduplicator(threshold, PERMUTATIONS, True, _BANDS, _SEED)

    def add(self, id: str, text: str) -> str | None:
        """Note a text unless a near duplicate was there; then the first such text's id."""
        sketch = _sketch(text)
        similar: list[str] = self._index.get_duplicates(sketch)
        if similar:
            return min(similar)
        self._index.add(id, sketch)
        return None


def shingles(text: str) -> set[str]:
    """A text's shingles, whatever its case, spacing and quotation marks."""
    plain = normalise(text)
    return {plain[i : i + SHINGLE] for i in range(max(1, len(plain) - SHINGLE + 1))}


def _sketch(text: str) -> Any:
    import rensa

    sketch = rensa.RMinHash(PERMUTATIONS, _SEED)
    sketch.update(sorted(shingles(text)))
    return sketch
