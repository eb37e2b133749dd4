"""Logs -> frames: the one reader for everything right of the log.

Read from Inspect's headers and sample summaries, never from whole samples, so that a large
log costs seconds. What is wrong with the logs is told in notes, not guessed at.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import pandas as pd
from inspect_ai.log import (
    EvalLog,
    EvalSampleSummary,
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample_summaries,
)
from inspect_ai.model import ModelUsage
from inspect_ai.scorer import Score


@dataclass(frozen=True)
class Runs:
    """Runs and their samples."""

    runs: pd.DataFrame
    """One row a run and judge: `run`, `file`, `model`, `mitigation`, `replicate`, `prompt_set`,
    `wanted`, `judge`, hashes, versions and counts."""
    samples: pd.DataFrame
    """One row a sample and judge: `run`, `id`, `category`, `epoch`, `outcome`, `deployed` and
    `model_only` (1.0 refused, 0.0 answered, nan neither), flags, matcher, length; tokens and
    cost of the evaluated model; seconds of working time, the judge's included."""
    notes: list[str]
    """What a reader must know of the logs: superseded, unfinished, foreign, failed."""


def read_runs(*sources: str) -> Runs:
    """Read runs from directories, log files, or any URL that fsspec knows.

    Of several logs of one task only the newest counts: an attempt that was killed leaves
    its log behind.

    Args:
        *sources: Directories and `.eval` or `.json` files.

    Raises:
        ValueError: If there is no run of ours in them.
    """
    notes: list[str] = []
    run_rows: list[dict[str, Any]] = []
    sample_rows: list[dict[str, Any]] = []
    for log in _newest(list(_headers(sources, notes)), notes):
        _note_state(log, notes)
        summaries = read_eval_log_sample_summaries(log.location)
        for name in _score_names(summaries):
            rows = [_sample(summary, name) for summary in summaries]
            run = len(run_rows)
            run_rows.append({"run": run, "score": name, **_run(log, summaries, name, notes)})
            sample_rows += [{"run": run, **row} for row in rows]
    if not run_rows:
        raise ValueError(
            f"no run of orbench_inspect in {', '.join(sources)}"
            + "".join(f"\n  {n}" for n in notes)
        )
    return Runs(pd.DataFrame(run_rows), pd.DataFrame(sample_rows), notes)


def _headers(sources: Sequence[str], notes: list[str]) -> Iterator[EvalLog]:
    foreign = 0
    seen: set[str] = set()
    for source in sources:
        single = source.endswith((".eval", ".json"))
        files = [source] if single else [info.name for info in list_eval_logs(source)]
        for file in files:
            try:
                log = read_eval_log(file, header_only=True)
                if log.location in seen:
                    continue
                seen.add(log.location)
            except Exception as ex:
                notes.append(f"{file}: cannot be read ({type(ex).__name__}: {ex})")
                continue
            if "orbench" in (log.eval.metadata or {}):
                yield log
            else:
                foreign += 1
    if foreign:
        notes.append(f"{foreign} logs of other tasks left out")


def _newest(logs: list[EvalLog], notes: list[str]) -> list[EvalLog]:
    newest: dict[str, EvalLog] = {}
    for log in sorted(logs, key=lambda log: (log.eval.created, log.location)):
        newest[log.eval.task_id] = log
    if len(newest) < len(logs):
        notes.append(f"{len(logs) - len(newest)} logs superseded by a later attempt at their task")
    return list(newest.values())


def _note_state(log: EvalLog, notes: list[str]) -> None:
    if log.status != "success":
        why = f": {log.error.message.splitlines()[0]}" if log.error and log.error.message else ""
        notes.append(f"{_name(log)}: status {log.status}{why}")
    if log.invalidated:
        notes.append(f"{_name(log)}: marked invalid")


def _name(log: EvalLog) -> str:
    return log.location.rpartition("/")[2]


def _score_names(summaries: Sequence[EvalSampleSummary]) -> list[str]:
    """`refusal`, and `refusal1` and so on where a log was judged again."""
    names = {name for s in summaries for name in s.scores or {}}
    # A log without any score holds samples all the same: they are unscored.
    return sorted(name for name in names if re.fullmatch(r"refusal\d*", name)) or ["refusal"]


def _run(
    log: EvalLog, summaries: Sequence[EvalSampleSummary], score: str, notes: list[str]
) -> dict[str, Any]:
    ours: dict[str, Any] = (log.eval.metadata or {})["orbench"]
    judges = {
        (str(meta["judge"]), meta.get("judge_prompt_sha256"))
        for meta in (_metadata(_score(s, score)) for s in summaries)
        if meta.get("judge")
    }
    if len(judges) > 1:
        names = ", ".join(sorted(judge for judge, _ in judges))
        notes.append(f"{_name(log)}: score {score} is of several judges ({names})")
    judge, prompt = min(judges, key=str) if judges else _bound_judge(log, ours)
    planned = (log.eval.dataset.samples or 0) * (log.eval.config.epochs or 1)
    limit = log.eval.config.limit
    if isinstance(limit, int):
        planned = min(planned, limit * (log.eval.config.epochs or 1))
    if len(summaries) < planned:
        notes.append(f"{_name(log)}: {len(summaries)} of {planned} samples")
    asked = {s.metadata.get("composed_sha256") for s in summaries} - {None}
    if asked - {ours.get("composed_sha256")}:
        raise ValueError(
            f"{log.location}: some samples were asked under another mitigation text or system "
            "prompt than the log says (a file changed before eval-retry): they are not one arm"
        )
    early = log.results.early_stopping if log.results else None
    record = early.metadata if early else {}
    system = record.get("system")
    state = system.get("state") if isinstance(system, dict) else None
    if state == "not_observed":
        notes.append(f"{_name(log)}: system text was not observed to reach {log.eval.model}")
    if roles := record.get("construction_roles"):
        listed = ", ".join(map(str, roles)) if isinstance(roles, list) else roles
        notes.append(f"{_name(log)}: {log.eval.model} helped to construct its prompts ({listed})")
    return {
        "file": log.location,
        "created": log.eval.created,
        "status": log.status,
        "model": log.eval.model,
        **{key: ours.get(key) for key in _OURS},
        "replicate": ours.get("replicate") or 1,
        "per_category": ours["options"].get("per_category"),
        "judge": judge,
        "judges": len(judges),
        "judge_prompt_sha256": prompt,
        "epochs": log.eval.config.epochs or 1,
        "samples": len(summaries),
        "planned": planned,
        "system": state,
        "inspect": log.eval.packages.get("inspect_ai"),
        "temperature": log.plan.config.temperature,
        "max_tokens": log.plan.config.max_tokens,
    }


def _bound_judge(log: EvalLog, ours: dict[str, Any]) -> tuple[str, str | None]:
    """The judge of a run in which nothing came to be judged."""
    bound = (log.eval.model_roles or {}).get("grader")
    if ours["scorer"] != "judge" or bound is None:
        return str(ours["matcher"]), None
    first = bound[0] if isinstance(bound, list) else bound
    return first.model, ours["judge_prompt_sha256"]


_OURS = (
    *("mitigation", "system_as", "composed_sha256", "product_sha256", "prompt_set", "wanted"),
    *("source", "revision", "data_sha256", "prompts_sha256", "population", "scorer", "package"),
)


def _sample(summary: EvalSampleSummary, name: str) -> dict[str, Any]:
    score = _score(summary, name)
    meta = _metadata(score)
    value = float("nan") if score is None else score.as_float()
    outcome = (score.answer if score is not None else None) or "model_error"
    usage = list(summary.model_usage.values())
    judge = summary.role_usage.get("grader", ModelUsage())
    costs = [u.total_cost for u in usage if u.total_cost is not None]
    matcher = (summary.scores or {}).get("matcher")
    return {
        "id": str(summary.id),
        "category": str(summary.metadata.get("category", "uncategorised")),
        "epoch": summary.epoch,
        "outcome": outcome,
        "deployed": value,
        "model_only": float("nan") if outcome == "provider_refusal" else value,
        "unscored": isnan(value),
        "composed_sha256": summary.metadata.get("composed_sha256"),
        "flags": str(meta.get("flags", "")),
        "injection_suspected": bool(meta.get("injection_suspected", False)),
        "matcher": matcher.answer if matcher is not None else None,
        "characters": meta.get("response_chars"),
        "tokens": sum(u.total_tokens for u in usage) - judge.total_tokens,
        "seconds": summary.working_time,
        "cost": sum(costs) - (judge.total_cost or 0.0) if costs else None,
    }


def _score(summary: EvalSampleSummary, name: str) -> Score | None:
    return (summary.scores or {}).get(name)


def _metadata(score: Score | None) -> dict[str, Any]:
    return (score.metadata or {}) if score is not None else {}
