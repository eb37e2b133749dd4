"""Moderated prompts with all that later stages found of them, in one ordered stream."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orbench_inspect.construction.moderate import decide, is_seed, usable_votes
from orbench_inspect.construction.second_chance import gets_second_chance
from orbench_inspect.construction.select import refusals, unanimously_toxic
from orbench_inspect.construction.trail import Done, Item, finished


@dataclass(frozen=True)
class Candidate:
    """A moderated prompt."""

    voted: Done
    chance: Done | None = None
    """The votes on its answer, if it was answered."""
    selected: Done | None = None
    """What selectors made of it, if they were asked."""

    @property
    def item(self) -> Item:
        """The prompt."""
        return self.voted.item

    @property
    def decision(self) -> str:
        """`safe`, `toxic`, `undecided` or `failed` (a call for it failed for good)."""
        first = _decision(self.voted)
        if first != "toxic" or self.chance is None:
            return first
        return _decision(self.chance)

    @property
    def is_safe_rewrite(self) -> bool:
        """Whether it belongs to the safe prompts. A seed never does."""
        return self.decision == "safe" and not is_seed(self.item)

    @property
    def is_toxic_candidate(self) -> bool:
        """Whether every moderator called it toxic, each time it was voted on."""
        return unanimously_toxic(self.voted, self.chance)

    @property
    def refused_by(self) -> int | None:
        """How many selectors refused it; None where none were asked."""
        result = self.selected.result if self.selected else None
        return None if result is None else refusals(result)


def candidates(out: Path, selected: bool = True) -> Iterator[Candidate]:
    """All moderated prompts in order, joined with later stages, which keep that order.

    Args:
        out: Folder of the construction.
        selected: Whether selectors have been asked already.
    """
    chances = finished(out, "second_chance")
    selections = finished(out, "select_hard") if selected else iter(())
    pending = next(selections, None)
    for voted in finished(out, "moderate"):
        chance = next(chances) if gets_second_chance(voted) else None
        if pending is not None and pending.item.id == voted.item.id:
            yield Candidate(voted, chance, pending)
            pending = next(selections, None)
        else:
            yield Candidate(voted, chance)
    if pending is not None:
        raise ValueError(f"{out}: {pending.item.id} was selected and never moderated")


def _decision(done: Done) -> str:
    return "failed" if done.result is None else decide(usable_votes(done.result))
