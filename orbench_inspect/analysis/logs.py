"""Finding logs, and what their headers tell: the same for runs, validations and judging again."""

import re
from collections.abc import Iterator, Sequence

from inspect_ai.log import EvalLog, EvalSampleSummary, list_eval_logs, read_eval_log

from orbench_inspect.scoring.panel import judge_name


def each_log(sources: Sequence[str], unread: list[str]) -> Iterator[EvalLog]:
    """The header of each log, once.

    Args:
        sources: Directories and `.eval` or `.json` files, or URLs that fsspec knows.
        unread: Files that cannot be read are told here.
    """
    seen: set[str] = set()
    for source in sources:
        single = source.endswith((".eval", ".json"))
        for file in [source] if single else [info.name for info in list_eval_logs(source)]:
            try:
                log = read_eval_log(file, header_only=True)
            except Exception as ex:  # whatever is in a file that is no log
                unread.append(f"{file}: cannot be read ({type(ex).__name__}: {ex})")
                continue
            if log.location not in seen:
                seen.add(log.location)
                yield log


def newest(logs: list[EvalLog], notes: list[str]) -> list[EvalLog]:
    """Of several logs of one task the newest: an attempt that was killed leaves its log behind."""
    latest: dict[str, EvalLog] = {}
    for log in sorted(logs, key=lambda log: (log.eval.created, log.location)):
        latest[log.eval.task_id] = log
    if len(latest) < len(logs):
        notes.append(f"{len(logs) - len(latest)} logs superseded by a later attempt at their task")
    return list(latest.values())


def planned(log: EvalLog) -> int:
    """Samples that a log should hold, epochs counted."""
    samples, limit = log.eval.dataset.samples or 0, log.eval.config.limit
    if isinstance(limit, int):
        samples = min(samples, limit)
    return samples * (log.eval.config.epochs or 1)


def note_gap(log: EvalLog, samples: int, notes: list[str]) -> None:
    """Note that a log holds fewer samples than it should, where it does."""
    if samples < planned(log):
        notes.append(f"{file_name(log)}: {samples} of {planned(log)} samples")


def file_name(log: EvalLog) -> str:
    """What a log is called in notes."""
    return log.location.rpartition("/")[2]


def score_names(summaries: Sequence[EvalSampleSummary]) -> list[str]:
    """`refusal`, and `refusal1` and so on where a log was judged again, oldest first."""
    names = {name for s in summaries for name in s.scores or {}}
    ours = [name for name in names if re.fullmatch(r"refusal\d*", name)]
    # A log without any score holds samples all the same: they are unscored.
    return sorted(ours, key=lambda name: int(name[len("refusal") :] or 0)) or ["refusal"]


def bound_judge(log: EvalLog) -> str | None:
    """The judge that a log was run with, a panel by its name; None if none was bound."""
    bound = (log.eval.model_roles or {}).get("grader")
    if not bound:
        return None
    return judge_name([model.model for model in (bound if isinstance(bound, list) else [bound])])
