"""How far the tasks of a launch are, read from their logs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote, urlparse
from zipfile import BadZipFile, ZipFile

import fsspec
from inspect_ai import task_identifier
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

from orbench_inspect.studies.capture import CapturedTask


@dataclass
class Work:
    """One task of a script, as Inspect's capture tells it, and how far it is."""

    captured: CapturedTask
    attempts: int = 0
    logs: list[EvalLog] = field(default_factory=list)
    """Headers of its logs, oldest first."""

    @property
    def total(self) -> int:
        """Samples, epochs counted."""
        return self.captured.samples * self.captured.epochs

    @property
    def label(self) -> str:
        """What a person knows the task by."""
        args = self.captured.passed
        told = [args[name] for name in ("mitigation", "replicate", "shard") if args.get(name)]
        return " ".join(map(str, [self.captured.name, self.captured.model, *told]))

    @property
    def complete(self) -> bool:
        """Whether every sample is in the newest log and none of them failed."""
        return self.failed <= 0

    @property
    def failed(self) -> int:
        """Samples that are not in the newest log, or failed in it."""
        return self.total - (_completed(self.logs[-1]) if self.logs else 0)

    @property
    def finished(self) -> bool:
        """Whether the newest attempt came to its end, with samples that failed or without."""
        return bool(self.logs) and self.logs[-1].status == "success"

    def to_resume(self) -> str | None:
        """The log to go on from: the one that holds most."""
        if not self.logs:
            return None
        # A resumed attempt may be cut short before it has taken over what there was.
        return max(self.logs, key=lambda log: (_held(log), log.eval.created)).location

    def done(self) -> int:
        """Samples in its logs so far."""
        return max(map(_held, self.logs), default=0)


def _completed(log: EvalLog) -> int:
    return log.results.completed_samples if log.status == "success" and log.results else 0


def _held(log: EvalLog) -> int:
    """Samples written to a log: its files under `samples/`, which is cheap to ask at any size."""
    if log.status == "success" and log.results:
        return log.results.total_samples
    if not log.location.endswith(".eval"):
        return 0
    try:
        with (
            fsspec.open(local_path(log.location) or log.location) as file,
            ZipFile(file) as written,
        ):
            return sum(name.startswith("samples/") for name in written.namelist())
    except (OSError, BadZipFile):
        return 0


def local_path(location: str) -> str | None:
    """The path of a file or folder, or None for a URL of another place."""
    url = urlparse(location)
    if "://" not in location:
        return location
    return unquote(url.path) if url.scheme == "file" else None


def find_logs(works: Sequence[Work], log_dir: str) -> list[str]:
    """Look up the logs of each task.

    Args:
        works: The tasks.
        log_dir: Where their logs are.

    Returns:
        Logs that are of none of them: a model, a judge or a setting is another.
    """
    found: list[EvalLog] = []
    for info in list_eval_logs(log_dir):
        try:
            found.append(_header(info.name, info.mtime, info.size))
        except Exception:  # what was cut before its header was written holds nothing
            continue
    of_task: dict[str, list[EvalLog]] = {work.captured.identifier: [] for work in works}
    strangers = []
    for log in sorted(found, key=lambda log: log.eval.created):
        mine = of_task.get(task_identifier(log, None))
        if mine is None:
            strangers.append(log.location)
        else:
            mine.append(log)
    for work in works:
        work.logs = of_task[work.captured.identifier]
    return strangers


def of_another_study(log_dir: str, log: str = "") -> str:
    """Say that a directory holds logs of other tasks.

    Args:
        log_dir: The directory.
        log: One of them, if known.
    """
    named = f" ({log})" if log else ""
    return (
        f"{log_dir} holds logs of arms that are not in this study{named}. Has a model, the judge, "
        "a mitigation's text, a system prompt, the prompts or an option changed since? Results of "
        "both are never mixed: take a new --log-dir"
    )


_HEADERS: dict[str, tuple[tuple[float | None, int], EvalLog]] = {}


def _header(name: str, mtime: float | None, size: int) -> EvalLog:
    """The header of a log, read again when the log has changed; without what it has of samples."""
    stamp = mtime, size
    known = _HEADERS.get(name)
    if known is None or known[0] != stamp:
        log = read_eval_log(name, header_only=True)
        log.reductions, log.eval.dataset.sample_ids = None, None
        known = _HEADERS[name] = stamp, log
    return known[1]


def one_line(works: Iterable[Work], running: int, seconds: float, before: int) -> str:
    """Where the launch stands.

    Args:
        works: The tasks, their logs looked up.
        running: Workers at work.
        seconds: Since the launch began.
        before: Samples that were there already.
    """
    every = list(works)
    done, total = sum(work.done() for work in every), sum(work.total for work in every)
    rate = (done - before) / seconds if seconds else 0.0
    left = f", {(total - done) / rate / 60:,.0f} min left" if rate > 0 and done < total else ""
    whole = sum(work.complete for work in every)
    return (
        f"{done:,} of {total:,} samples, {whole} of {len(every)} tasks, {running} workers, "
        f"{rate:.1f} a second{left}"
    )
