"""Logs -> frames: the one reader for everything right of the log.

Read from Inspect's headers and sample summaries, never from whole samples, so that a large
log costs seconds. What is wrong with the logs is told in notes, not guessed at.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from inspect_ai.log import (
    EvalLog,
    read_eval_log_sample_summaries,
)

from orbench_inspect.analysis.large_reads import collection_paused
from orbench_inspect.analysis.logs import (
    each_log,
    file_name,
    newest,
)
from orbench_inspect.analysis.run_rows import runs_of, sample_of
from orbench_inspect.analysis.shards import merge_shards


@dataclass(frozen=True)
class Runs:
    """Runs and their samples."""

    runs: pd.DataFrame
    """One row a run and judge: `run`, `file`, `model`, `mitigation`, `replicate`, `prompt_set`,
    `wanted`, `judge`, `judge_prompt` (its rubric), `scorer` (what gave this score), hashes,
    versions, counts, and the warnings the run itself gave. The shards of an arm are one run:
    `shards` tells of how many logs, and `file` is the first of them."""
    samples: pd.DataFrame
    """One row a sample and judge: `run`, the `file` that holds it, the name of its `score` there,
    `id`, `category`, `epoch`, `outcome`, `deployed` and `model_only` (1.0 refused, 0.0 answered,
    nan neither), flags, matcher, length; what the judge's route and cost were, and what the
    audit of a cascade found; tokens and cost of the evaluated model; seconds of working time,
    the judge's included."""
    notes: list[str]
    """What a reader must know of the logs: superseded, unfinished, foreign, failed."""


@collection_paused()
def read_runs(*sources: str) -> Runs:
    """Read runs from directories, log files, or any URL that fsspec knows.

    Of several logs of one task only the newest counts: an attempt that was killed leaves
    its log behind.

    Args:
        *sources: Directories and `.eval` or `.json` files.

    Raises:
        ValueError: If there is no run of ours in them, or not one sample.
    """
    notes: list[str] = []
    run_rows: list[dict[str, Any]] = []
    sample_rows: list[dict[str, Any]] = []
    for log in newest(list(_ours(sources, notes)), notes):
        _note_state(log, notes)
        summaries = read_eval_log_sample_summaries(log.location)
        for told in runs_of(log, summaries, notes):
            run = len(run_rows)
            run_rows.append({"run": run, **told})
            where = {"run": run, "file": log.location, "score": told["score"]}
            sample_rows += [{**where, **sample_of(s, told["score"])} for s in summaries]
        del summaries
    if not run_rows:
        raise ValueError(
            f"no run of orbench_inspect in {', '.join(sources)}"
            + "".join(f"\n  {n}" for n in notes)
        )
    if not sample_rows:
        raise ValueError(
            f"no run in {', '.join(sources)} has a sample: each was stopped before its first one. "
            "Mend what stopped it, and run it again" + "".join(f"\n  {n}" for n in notes)
        )
    run_rows, sample_rows = merge_shards(run_rows, sample_rows, notes)
    return Runs(pd.DataFrame(run_rows), pd.DataFrame(sample_rows), notes)


def _ours(sources: Sequence[str], notes: list[str]) -> Iterator[EvalLog]:
    foreign = 0
    for log in each_log(sources, notes):
        if "orbench" in (log.eval.metadata or {}):
            yield log
        else:
            foreign += 1
    if foreign:
        notes.append(f"{foreign} logs of other tasks left out")


def _note_state(log: EvalLog, notes: list[str]) -> None:
    if log.status != "success":
        why = f": {log.error.message.splitlines()[0]}" if log.error and log.error.message else ""
        notes.append(f"{file_name(log)}: status {log.status}{why}")
    if log.invalidated:
        notes.append(f"{file_name(log)}: marked invalid")
