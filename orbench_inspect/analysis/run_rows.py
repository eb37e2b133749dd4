"""One log as rows: the run as each judge scored it, and its samples.

Read from Inspect's headers and sample summaries, never from whole samples.
"""

from collections.abc import Sequence
from math import isnan
from typing import Any

from inspect_ai.log import EvalLog, EvalSampleSummary
from inspect_ai.model import ModelUsage
from inspect_ai.scorer import Score

from orbench_inspect.analysis.logs import bound_judge, file_name, note_gap, planned, score_names
from orbench_inspect.scoring.from_cache import drift
from orbench_inspect.scoring.judge import ROLE
from orbench_inspect.scoring.left_open import judge_said
from orbench_inspect.scoring.panel import SECOND_ROLE


def runs_of(
    log: EvalLog, summaries: Sequence[EvalSampleSummary], notes: list[str]
) -> list[dict[str, Any]]:
    """The run as each judge scored it; a judge's later score takes the place of an earlier.

    Args:
        log: Its header.
        summaries: Its samples.
        notes: What a reader must know is added here.

    Raises:
        ValueError: If the samples were not all asked under one mitigation text.
    """
    found: dict[tuple[object, ...], dict[str, Any]] = {}
    for name in score_names(summaries):
        told = {"score": name, **_run(log, summaries, name, notes)}
        by = (told["judge"], told["judge_prompt_sha256"])
        if by in found:
            notes.append(f"{file_name(log)}: score {name} takes the place of {found[by]['score']}")
        found[by] = told
    return list(found.values())


def _run(
    log: EvalLog, summaries: Sequence[EvalSampleSummary], score: str, notes: list[str]
) -> dict[str, Any]:
    ours: dict[str, Any] = (log.eval.metadata or {})["orbench"]
    told = [_metadata(_score(s, score)) for s in summaries]
    judges = {
        (str(meta["judge"]), meta.get("judge_prompt_sha256"), meta.get("judge_prompt"))
        for meta in told
        if meta.get("judge")
    }
    if seconds := [str(meta["second_judge"]) for meta in told if meta.get("second_judge")]:
        names = ", ".join(sorted(set(seconds)))
        notes.append(
            f"{file_name(log)}: {len(seconds)} of {len(summaries)} judged by {names} instead"
        )
    if own := sum(bool(meta.get("self_judged")) for meta in told):
        notes.append(
            f"{file_name(log)}: {own} of {len(summaries)} judged by the evaluated model itself"
        )
    if len(judges) > 1:
        names = ", ".join(sorted(judge for judge, *_ in judges))
        notes.append(f"{file_name(log)}: score {score} is of several judges ({names})")
    judge, prompt, rubric = min(judges, key=str) if judges else _unasked_judge(log, ours)
    note_gap(log, len(summaries), notes)
    asked = {s.metadata.get("composed_sha256") for s in summaries} - {None}
    if asked - {ours.get("composed_sha256")}:
        raise ValueError(
            f"{log.location}: some samples were asked under another mitigation text or system "
            "prompt than the log says (a file changed before eval-retry): they are not one arm"
        )
    early = log.results.early_stopping if log.results else None
    record = early.metadata if early else {}
    whole = ours.get("whole") or {}
    system = record.get("system")
    state = system.get("state") if isinstance(system, dict) else None
    if state == "not_observed":
        notes.append(f"{file_name(log)}: system text was not observed to reach {log.eval.model}")
    if roles := record.get("construction_roles"):
        listed = ", ".join(map(str, roles)) if isinstance(roles, list) else roles
        notes.append(
            f"{file_name(log)}: {log.eval.model} helped to construct its prompts ({listed})"
        )
    notes += [f"{file_name(log)}: {told}" for told in drift(record)]
    return {
        "file": log.location,
        "created": log.eval.created,
        "status": log.status,
        "model": log.eval.model,
        **{key: ours.get(key) for key in _OURS},
        "shard": ours.get("shard"),
        "whole_prompts": whole.get("prompts"),
        "whole_sha256": whole.get("sha256"),
        "scorer": _scorer(told, ours),
        "replicate": ours.get("replicate") or 1,
        "per_category": ours["options"].get("per_category"),
        "judge": judge,
        "judges": len(judges),
        "judge_prompt_sha256": prompt,
        "judge_prompt": rubric,
        "epochs": log.eval.config.epochs or 1,
        "samples": len(summaries),
        "planned": planned(log),
        "system": state,
        "warnings": [str(warning) for warning in _listed(record.get("warnings"))],
        "inspect": log.eval.packages.get("inspect_ai"),
        "temperature": log.plan.config.temperature,
        "max_tokens": log.plan.config.max_tokens,
    }


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _scorer(told: Sequence[dict[str, Any]], ours: dict[str, Any]) -> str:
    """What gave these scores: a log that was judged again holds several."""
    if any("decided_by" in meta for meta in told):
        return "cascade"
    judged = [meta for meta in told if meta.get("judge")]
    if not judged:
        return str(ours["scorer"])
    return "judge" if any(meta.get("judge_prompt_sha256") for meta in judged) else "matcher"


def _unasked_judge(log: EvalLog, ours: dict[str, Any]) -> tuple[str, str | None, str | None]:
    """The judge of a run in which nothing came to be judged."""
    judge = None if ours["scorer"] == "matcher" else bound_judge(log)
    if judge is None:
        return str(ours["matcher"]), None, None
    return judge, ours["judge_prompt_sha256"], ours["judge_prompt"]


_OURS = (
    *("mitigation", "system_as", "composed_sha256", "product_sha256", "prompt_set", "wanted"),
    *("source", "revision", "data_sha256", "prompts_sha256", "population", "package"),
)


def sample_of(summary: EvalSampleSummary, name: str) -> dict[str, Any]:
    """A sample as one of its scores has it.

    Args:
        summary: The sample.
        name: Name of the score.
    """
    score = _score(summary, name)
    meta = _metadata(score)
    value = float("nan") if score is None else score.as_float()
    outcome = (score.answer if score is not None else None) or "model_error"
    usage = list(summary.model_usage.values())
    judges = [summary.role_usage.get(role, ModelUsage()) for role in (ROLE, SECOND_ROLE)]
    costs = [u.total_cost for u in usage if u.total_cost is not None]
    matcher = (summary.scores or {}).get("matcher")
    return {
        "id": str(summary.id),
        "category": str(summary.metadata.get("category", "uncategorised")),
        "epoch": summary.epoch,
        "uuid": summary.uuid,
        "outcome": outcome,
        "deployed": value,
        "model_only": float("nan") if outcome == "provider_refusal" else value,
        "unscored": isnan(value),
        "composed_sha256": summary.metadata.get("composed_sha256"),
        "flags": " ".join(meta.get("flags") or ()),
        "injection_suspected": bool(meta.get("injection_suspected", False)),
        "route": meta.get("route"),
        "decided_by": meta.get("decided_by"),
        "audit_outcome": meta.get("audit_outcome"),
        "judge_said": judge_said(score),
        "second_judge": meta.get("second_judge"),
        "judge_tokens": meta.get("judge_tokens"),
        "judge_cost": meta.get("judge_cost"),
        "matcher": matcher.answer if matcher is not None else None,
        "characters": meta.get("response_chars"),
        "tokens": sum(u.total_tokens for u in usage) - sum(u.total_tokens for u in judges),
        "seconds": summary.working_time,
        "cost": sum(costs) - sum(u.total_cost or 0.0 for u in judges) if costs else None,
    }


def _score(summary: EvalSampleSummary, name: str) -> Score | None:
    return (summary.scores or {}).get(name)


def _metadata(score: Score | None) -> dict[str, Any]:
    return (score.metadata or {}) if score is not None else {}
