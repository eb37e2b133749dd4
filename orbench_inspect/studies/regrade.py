"""Judging stored responses again, without generating: which logs, and what of them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio
from inspect_ai.log import (
    EvalLog,
    EvalSampleSummary,
    read_eval_log_sample_summaries,
)
from inspect_ai.scorer import Score

from orbench_inspect.analysis.logs import each_log, newest, score_names
from orbench_inspect.refusal_rules import match
from orbench_inspect.scoring.batch import check_batch
from orbench_inspect.scoring.families import kin
from orbench_inspect.scoring.judge import load_judge_prompt
from orbench_inspect.scoring.left_open import TIED, judge_said, left_open
from orbench_inspect.scoring.panel import judge_name
from orbench_inspect.scoring.plain_example import no_judge, try_judge
from orbench_inspect.scoring.words import CAUSES, VERDICTS
from orbench_inspect.studies.judge_again import (
    Pass,
    judge_again,
    judges_of,
    next_name,
    remove_stale,
)
from orbench_inspect.studies.progress import local_path
from orbench_inspect.text_files import TextFile, edition


@dataclass(frozen=True)
class Regraded:
    """What became of one log."""

    line: str
    """One line for a person."""
    done: bool
    """Whether all it could be judged on was judged."""
    judged: int = 0
    """Responses that were put before the judge now and judged."""
    open: int = 0
    """Responses on which it failed."""


@dataclass(frozen=True)
class _Judge:
    grader: str
    name: str
    prompt_name: str
    prompt: TextFile

    def __str__(self) -> str:
        return f"{self.name} {edition(self.prompt.id, self.prompt.sha256)}"


def regrade(
    sources: Sequence[str],
    grader: str,
    judge_prompt: str = "strict",
    missing: bool = False,
    allow_self_judge: bool = False,
) -> Iterator[Regraded]:
    """Have the responses in logs judged again, log by log.

    Args:
        sources: Directories and log files, on this machine.
        grader: The judge, or several that are a panel, in any form that
            `--model-role grader=…` takes.
        judge_prompt: Name or file of its instructions.
        missing: Judge only what this judge, under the same instructions, left open the last
            time.
        allow_self_judge: Let a model judge its own responses; marked in each score.

    Yields:
        What became of each log.

    Raises:
        ValueError: If there is no run of ours, a log is not on this machine, a model would
            judge itself unasked, or a judge cannot grade a plain example or is to be asked in
            batches and cannot be.
    """
    prompt = load_judge_prompt(judge_prompt)
    unread: list[str] = []
    logs = newest([log for log in each_log(sources, unread) if _is_ours(log)], [])
    if not logs and not unread:
        raise ValueError(f"no run of orbench_inspect in {', '.join(sources)}")
    judges = judges_of(grader)
    for log in logs:
        if log.eval.model in map(str, judges) and not allow_self_judge:
            raise ValueError(
                f"{_local(log).name}: {log.eval.model} would judge its own responses. Name another "
                "judge, or allow it with --allow-self-judge (marked in each score)"
            )
    for one in judges:
        check_batch(str(one), one.config, "--grader")
        found = anyio.run(try_judge, one, prompt)
        if found.outcome not in VERDICTS:
            raise ValueError(f"{no_judge(found)}\nNothing was judged. Check --grader")
    yield from (Regraded(line, False) for line in unread)
    judge = _Judge(grader, judge_name(judges), judge_prompt, prompt)
    for log in logs:
        told = _regrade(log, judge, missing)
        mild = filter(None, (kin(str(one), log.eval.model) for one in judges))
        yield replace(told, line="; ".join([told.line, *mild]))


def _regrade(log: EvalLog, judge: _Judge, missing: bool) -> Regraded:
    file = _local(log)
    remove_stale(file)
    if log.results is None:
        return Regraded(
            f"{file.name}: status {log.status}, not finished: inspect eval-retry first", False
        )
    before = read_eval_log_sample_summaries(str(file))
    asked = {_key(sample) for sample in before}
    options: dict[str, Any] = {"judge_prompt": judge.prompt_name}
    if "orbench_validation" in (log.eval.metadata or {}):
        options["once"] = False  # its epochs show the judge's noise
    if missing:
        keep = _latest_of(before, judge)
        if keep is None:
            return Regraded(f"{file.name}: {_no_score(before, judge)}", False)
        asked = {_key(s) for s in before if left_open(_scores(s).get(keep))}
        if not asked:
            return Regraded(f"{file.name}: nothing is missing", True)
        options["keep"] = keep
        if any("decided_by" in _meta(sample, keep) for sample in before):
            # All others are kept, so that what is audited is what the audit left open.
            options |= {"by": "cascade", "audit": 1.0}
    name = next_name(key for sample in before for key in _scores(sample))
    # One name for one pass over one log: interrupted, it finds the replies it has paid for.
    # A letter comes first: YAML takes some digests for numbers.
    told = f"{log.eval.eval_id} {name} {judge.name} {judge.prompt.sha256}"
    options["resume"] = f"r{sha256(told.encode()).hexdigest()[:16]}"
    after = judge_again(file, before, Pass(name, judge.grader, judge.prompt, options))
    scores = [_scores(sample).get(name) for sample in after if _key(sample) in asked]
    opened = f"{len(scores)} of {len(after)} were open" if missing else f"{len(after)} responses"
    return _told(f"{file.name}: {name}: {opened}", scores)


def _told(head: str, scores: Sequence[Score | None]) -> Regraded:
    said = Counter(judge_said(score) for score in scores)
    judged = sum(said[verdict] for verdict in VERDICTS)
    failed = sum(left_open(score) for score in scores)
    words = [f"{judged} judged"]
    words += [f"{said[word]} {word}" for word in (TIED, *CAUSES) if said[word]]
    lost = scores.count(None)
    nothing = said[None] - lost
    words += [f"{nothing} without anything to judge"] if nothing else []
    words += [f"{lost} failed in the run (inspect eval-retry)"] if lost else []
    put = judged + said[TIED] + failed
    success = f"{(judged + said[TIED]) / put:.1%}" if put else "n/a"
    line = f"{head}: {', '.join(words)}; judge success {success}"
    return Regraded(
        line + ("; run again with --missing" if failed else ""), not failed, judged, failed
    )


def _latest_of(samples: Sequence[EvalSampleSummary], judge: _Judge) -> str | None:
    """Name of the latest score of a judge under its prompt, alone or behind our rules."""
    behind_rules = f"{match('').list}, then {judge.name}"
    known = {(name, judge.prompt.sha256) for name in (judge.name, behind_rules)}
    for name in reversed(score_names(samples)):
        told = [meta for s in samples if "judge" in (meta := _meta(s, name))]
        if told and {(m["judge"], m.get("judge_prompt_sha256")) for m in told} <= known:
            return name
    return None


def _no_score(samples: Sequence[EvalSampleSummary], judge: _Judge) -> str:
    told = [meta for s in samples for n in score_names(samples) if "judge" in (meta := _meta(s, n))]
    names = {
        f"{m['judge']} {edition(m.get('judge_prompt'), m.get('judge_prompt_sha256'))}".strip()
        for m in told
    }
    return (
        f"no score of {judge} to complete, alone or behind the rules {match('').list}; there are "
        f"those of: {', '.join(sorted(names)) or 'none'}. Left as it was: without --missing all "
        "would be judged"
    )


def _scores(sample: EvalSampleSummary) -> dict[str, Score]:
    return sample.scores or {}


def _meta(sample: EvalSampleSummary, name: str) -> dict[str, Any]:
    score = _scores(sample).get(name)
    return (score.metadata or {}) if score else {}


def _key(sample: EvalSampleSummary) -> tuple[object, int]:
    return sample.id, sample.epoch


def _is_ours(log: EvalLog) -> bool:
    meta = log.eval.metadata or {}
    return "orbench" in meta or "orbench_validation" in meta


def _local(log: EvalLog) -> Path:
    path = local_path(log.location)
    if path is None:
        raise ValueError(f"{log.location}: copy the log to this machine first")
    return Path(path)
