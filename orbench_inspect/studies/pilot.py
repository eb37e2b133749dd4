"""What a finished pilot, the study itself on few prompts, tells before the study is run.

Tokens and seconds of calls, what certain rules settle, and how often arms differ.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import pandas as pd
from inspect_ai.event import ModelEvent
from inspect_ai.log import EvalSample, read_eval_log, read_eval_log_samples

from orbench_inspect.analysis.arms import By
from orbench_inspect.analysis.comparison import compare
from orbench_inspect.analysis.runs import Runs, read_runs
from orbench_inspect.scoring.metrics import wilson_interval

Cell = tuple[str, str, str]
"""Evaluated model, hash of what its samples are asked with, prompt set."""


@dataclass
class Calls:
    """Calls of one model."""

    calls: int = 0
    timed: int = 0
    """Those that no cache answered."""
    tokens_in: int = 0
    """Cached ones included."""
    tokens_out: int = 0
    """Reasoning included."""
    seconds: float = 0.0
    """Of those timed, without waiting."""

    def add(self, event: ModelEvent) -> None:
        """Count a call whose usage is known."""
        usage = event.output.usage
        if usage is None:
            return
        self.calls += 1
        cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        self.tokens_in += usage.input_tokens + cached
        self.tokens_out += usage.output_tokens
        if event.cache != "read" and event.working_time is not None:
            self.timed += 1
            self.seconds += event.working_time

    @property
    def seconds_a_call(self) -> float | None:
        """Mean seconds of a call; None where a cache answered all."""
        return self.seconds / self.timed if self.timed else None


@dataclass
class Observed:
    """What was seen of one arm on one prompt set."""

    scorer: str
    samples: int = 0
    judged: int = 0
    """Samples on which a judge was asked."""
    reused: int = 0
    """Samples that were judged with others of the same text: another run may not have them."""
    certain: int = 0
    """Samples that certain rules settle."""
    model: Calls = field(default_factory=Calls)
    judges: dict[str, Calls] = field(default_factory=lambda: defaultdict(Calls))
    """By name."""

    @property
    def before_judge(self) -> float:
        """Share of samples that come before a judge."""
        return (self.judged + self.reused) / self.samples


@dataclass(frozen=True)
class Discordance:
    """How often an arm and the baseline differ on a prompt."""

    share: float
    """Of pairs, with half a pair added so that none among few is not taken for none."""
    paired: float
    """Share of prompts on which both were scored; less where prompts weigh differently."""
    source: str


@dataclass(frozen=True)
class Pilot:
    """A finished pilot."""

    observed: dict[Cell, Observed]
    discordance: dict[str, Discordance]
    """By prompt set: that of the arm that differs most."""
    notes: list[str]


def read_pilot(source: str) -> Pilot:
    """Read a pilot's logs, whole samples too: a pilot is small.

    Args:
        source: Directory, log file or URL.

    Raises:
        ValueError: If there is no run of ours in it.
    """
    runs = read_runs(source)
    notes = [f"pilot: {note}" for note in runs.notes]
    observed: dict[Cell, Observed] = {}
    # A run may have several logs, its shards, and a log several runs, one for each judge.
    files = runs.samples[["run", "file"]].drop_duplicates("file", keep="last")
    for _, run in files.merge(runs.runs.drop(columns="file"), on="run").iterrows():
        cell = (str(run["model"]), str(run["composed_sha256"]), str(run["prompt_set"]))
        # Who scored as it ran: what judged the log later left no calls in it.
        header = read_eval_log(run["file"], header_only=True)
        scorer = (header.eval.metadata or {})["orbench"]["scorer"]
        found = observed.setdefault(cell, Observed(scorer))
        if found.scorer != scorer:
            raise ValueError(f"{source}: {cell[0]} was scored by {found.scorer} and by {scorer}")
        for sample in read_eval_log_samples(run["file"], all_samples_required=False):
            _observe(sample, found)
    notes += _unscored(runs.runs, runs.samples)
    seen = {cell: found for cell, found in observed.items() if found.samples}
    return Pilot(seen, _discordance(runs, notes), notes)


def _observe(sample: EvalSample, found: Observed) -> None:
    found.samples += 1
    asked_judge = False
    for event in sample.events:
        if not isinstance(event, ModelEvent):
            continue
        if event.role is None:
            found.model.add(event)
        elif event.role == "grader":
            asked_judge = True
            found.judges[event.model].add(event)
    found.judged += asked_judge
    score = (sample.scores or {}).get("refusal")
    shared = score is not None and "judged_with" in (score.metadata or {})
    found.reused += shared and not asked_judge
    matched = (sample.scores or {}).get("matcher")
    certain = matched is not None and (matched.metadata or {}).get("certain", False)
    found.certain += bool(certain and matched and matched.answer in ("refused", "answered"))


def _unscored(runs: pd.DataFrame, samples: pd.DataFrame) -> Iterable[str]:
    told = samples.merge(runs[["run", "prompt_set"]], on="run")
    for name, rows in told.groupby("prompt_set"):
        lower, upper = wilson_interval(float(rows["unscored"].mean()), len(rows))
        yield (
            f"pilot: {name}: {int(rows['unscored'].sum())} of {len(rows)} samples unscored "
            f"({rows['unscored'].mean():.1%} [{lower:.1%}, {upper:.1%}])"
        )


def _discordance(runs: Runs, notes: list[str]) -> dict[str, Discordance]:
    arms = runs.runs["mitigation"].nunique()
    by: By = "model" if arms < 2 and runs.runs["model"].nunique() > 1 else "mitigation"
    try:
        rows = compare(runs, by).differences
    except ValueError as ex:
        notes.append(f"pilot: no two arms to take a discordance from ({ex})")
        return {}
    rows = rows[rows["reading"] == "deployed"]
    if rows["noise_floor"].all():
        notes.append(
            "pilot: its discordance is that of one arm with its own repetition: other arms differ "
            "more"
        )
    else:
        rows = rows[~rows["noise_floor"]]
    found = {}
    for name, of_set in rows[rows["n"] > 0].groupby("prompt_set"):
        n = of_set["effective"]
        share = (of_set["discordance"] * n + 0.5) / (n + 1)
        row = of_set.loc[share.idxmax()]
        lower, upper = wilson_interval(float(row["discordance"]), int(row["n"]))
        found[str(name)] = Discordance(
            share=float(share.max()),
            paired=float((n / (of_set["n"] + of_set["lost"])).min()),
            source=f"pilot: {row['arm']}, {row['discordance']:.1%} [{lower:.1%}, {upper:.1%}] of "
            f"{row['n']} pairs",
        )
    return found
