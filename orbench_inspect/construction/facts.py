"""What the card and the provenance tell of a construction, counted from its streams."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from orbench_inspect.construction.agreement import Agreement, decision_of
from orbench_inspect.construction.candidates import Candidate
from orbench_inspect.construction.config import Config
from orbench_inspect.construction.dedup import Near
from orbench_inspect.construction.diversity import SAMPLE, distinct, self_bleu
from orbench_inspect.construction.moderate import is_seed, usable_votes
from orbench_inspect.construction.trail import STAGES, Dropped, Item, log_folder, newest_log, shards
from orbench_inspect.scoring.run_record import UNSCORED_LIMIT
from orbench_inspect.scoring.words import SCORED

SETS = ("safe", "hard", "toxic")

STATED = 0.7
"""Where near duplicates are kept, their share is stated at this similarity."""


@dataclass
class Facts:
    """Counts of one construction."""

    config: Config
    rejects: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Dropped texts by stage and reason."""
    made: Counter[str] = field(default_factory=Counter)
    """Seeds and rewrites that were kept, by stage."""
    decisions: Counter[str] = field(default_factory=Counter)
    """Rewrites by decision; `safe by answer` for those a second chance made safe."""
    seeds_voted: Counter[str] = field(default_factory=Counter)
    """Drawn seeds by decision."""
    in_set: dict[str, Counter[str]] = field(default_factory=lambda: {n: Counter() for n in SETS})
    """Prompts of each set by category."""
    labels: Agreement = field(default_factory=Agreement)
    """Moderators' agreement on prompts, on categories and none."""
    harm: Agreement = field(default_factory=Agreement)
    """The same on harmful or not."""
    unusable: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Unusable votes by moderator and cause, of both moderations."""
    no_answer: Counter[str] = field(default_factory=Counter)
    """Second chances without an answer to moderate, by cause."""
    outcomes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Responses by selector and outcome."""
    refused_by: Counter[int] = field(default_factory=Counter)
    """Prompts by the number of selectors that refused them."""
    not_selected: int = 0
    """Safe prompts whose calls to selectors failed for good: never hard."""
    _like: set[str] = field(default_factory=set)
    _samples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _random: Random = field(init=False)
    _near: Near | None = field(init=False)

    def __post_init__(self) -> None:
        self._random = Random(self.config.seed)
        self._near = None if self.config.near_duplicates else Near(STATED)

    def note_made(self, stage: str, found: Item | Dropped) -> None:
        """Count a seed or rewrite, or what was dropped in its place."""
        if isinstance(found, Dropped):
            self.rejects[stage, found.reason] += 1
            like = found.like
        else:
            self.made[stage] += 1
            like = ""
            if self._near is not None and stage == "rewrite":
                like = self._near.add(found.id, found.text) or ""
            if like:
                self.rejects[stage, "near_duplicate (kept)"] += 1
        if like:
            self._like.add(like)

    def note_moderated(self, candidate: Candidate) -> None:
        """Count a moderated prompt and what later stages made of it."""
        decision, voted, chance = candidate.decision, candidate.voted, candidate.chance
        if is_seed(candidate.item):
            self.seeds_voted[decision] += 1
        else:
            by_answer = decision == "safe" and chance is not None
            self.decisions["safe by answer" if by_answer else decision] += 1
        for done in (voted, chance):
            result = (done.result or {}) if done is not None else {}
            if "no_answer" in result:
                self.no_answer[result["no_answer"]] += 1
            for vote in result.get("votes", []):
                if vote["unusable"]:
                    self.unusable[vote["model"]][vote["unusable"]] += 1
        if voted.result is not None:
            votes = usable_votes(voted.result)
            self.labels.add(votes)
            self.harm.add([None if vote is None else decision_of(vote) for vote in votes])
        if candidate.selected is not None and candidate.selected.result is None:
            self.not_selected += 1
        elif candidate.selected is not None and candidate.selected.result is not None:
            self.refused_by[candidate.refused_by or 0] += 1
            for each in candidate.selected.result["outcomes"]:
                self.outcomes[each["model"]][each["outcome"]] += 1

    def note_in_set(self, name: str, item: Item) -> None:
        """Count a prompt of the product, and keep a sample of the safe ones."""
        self.in_set[name][item.category] += 1
        if name != "safe":
            return
        # Reservoir sampling: each prompt of a category is kept with the same chance.
        sample, seen = self._samples[item.category], self.in_set[name][item.category]
        if len(sample) < SAMPLE:
            sample.append(item.text)
        elif (place := self._random.randrange(seen)) < SAMPLE:
            sample[place] = item.text

    @property
    def near_share(self) -> float:
        """Share of rewrites in near-duplicate clusters, before any were removed."""
        removed = self.rejects["rewrite", "near_duplicate"]
        repeats = removed + self.rejects["rewrite", "near_duplicate (kept)"]
        total = self.made["rewrite"] + removed
        return (repeats + len(self._like)) / total if total else 0.0

    def warnings(self) -> list[str]:
        """What a user of the set must know first."""
        found = []
        wanted = self.config.seeds.per_category * len(self.config.categories)
        if self.made["seeds"] < wanted:
            found.append(f"only {self.made['seeds']:,} of {wanted:,} seeds could be made")
        voted = self.decisions.total() + self.seeds_voted.total()
        for model, causes in sorted(self.unusable.items()):
            if causes.total() > UNSCORED_LIMIT * voted:
                found.append(f"{causes.total():,} votes of {model} could not be used")
        for model, words in sorted(self.outcomes.items()):
            unscored = sum(n for word, n in words.items() if word not in SCORED)
            if unscored > UNSCORED_LIMIT * words.total():
                found.append(f"{unscored:,} responses of {model} are unscored")
        found += [f"no {name} prompts" for name in SETS if not self.in_set[name]]
        return found

    def self_bleu(self) -> dict[str, float]:
        """Self-BLEU of a sample of the safe prompts of each category."""
        return {name: self_bleu(texts, 0) for name, texts in sorted(self._samples.items())}

    def distinct(self) -> dict[int, float]:
        """Distinct n-grams of the same samples together, by n."""
        every = [text for texts in self._samples.values() for text in texts]
        return {n: distinct(every, n) for n in (1, 2, 3)}


def tokens_used(out: Path) -> dict[str, tuple[int, int]]:
    """Input and output tokens by model, in the finished logs."""
    used: dict[str, tuple[int, int]] = {}
    for stage in STAGES:
        for shard in shards(out, stage):
            log = newest_log(log_folder(out, stage, shard))
            for model, usage in (log.stats.model_usage if log else {}).items():
                before = used.get(model, (0, 0))
                used[model] = (before[0] + usage.input_tokens, before[1] + usage.output_tokens)
    return used
