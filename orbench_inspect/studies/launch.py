"""Any `eval_set` script on several workers, one task each."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile

from orbench_inspect.budget import Budget
from orbench_inspect.studies.documents import must_know_documents, selection, tasks_of
from orbench_inspect.studies.engines import Ended, Engine, Script, Start, Worker
from orbench_inspect.studies.engines.local import local, run_here
from orbench_inspect.studies.progress import (
    Work,
    find_logs,
    local_path,
    of_another_study,
    one_line,
)

ATTEMPTS = 3
"""Times a task is begun before it is given up."""

_LOOK = 0.2
_COUNT = 5.0
_GRACE = 15.0
_LATE = 60.0


def launch(
    script: Script,
    workers: int,
    max_connections: int | None = None,
    show: Callable[[str], None] = print,
    progress: Callable[[str], None] = lambda line: None,
    engine: Engine = local,
    part: tuple[int, int] = (1, 1),
    budget: Budget | None = None,
) -> bool:
    """Run a script's tasks, or what is left of them.

    A worker that is lost is replaced, and goes on from the log it left. Interrupted in any way,
    the workers end; launched again, what was finished is not asked again.

    Args:
        script: The script.
        workers: At work at once.
        max_connections: Of the evaluated model, all workers together, shared out evenly; None
            for Inspect's own limit in each.
        show: Told what a person should read.
        progress: Told, over and over, where the launch stands.
        engine: Where the workers run.
        part: The k-th of n launches that each take every n-th task, at the same time or not, on
            one machine or many. The one that finds all tasks complete writes the set's records.
        budget: What the study may cost, or only its prices.

    Returns:
        Whether every sample of its tasks is there and none failed.

    Raises:
        ValueError: If the script's tasks cannot be told, Inspect is too old, the log directory
            cannot be used, holds logs of other tasks, or is not what workers see, or a budget
            lacks a price.
    """
    must_know_documents()
    budget = budget or Budget(None, script.log_dir)
    # A script that calls no eval_set runs here, and costs what it costs.
    script = replace(script, environment=budget.environment())
    works = tasks_of(script)
    _must_fit(works, script.log_dir)
    budget.check({name for work in works for name in work.captured.models})
    if uncounted := budget.uncounted():
        show(uncounted)
    k, n = part
    mine = works[k - 1 :: n]
    elsewhere = engine is not local or n > 1
    workers = min(workers, len(mine), max_connections or workers)
    if not all(work.complete for work in mine):
        with engine(script) as start:
            shares = _shares(workers, max_connections)
            pool = _Pool(script, start, mine, shares, elsewhere, show, budget)
            try:
                pool.run(progress)
            finally:
                pool.stop()
        find_logs(works, script.log_dir)
    if lost := [work.label for work in mine if not work.finished]:
        how = (
            budget.how_it_ended() if budget.is_spent() else "The same command asks what is missing"
        )
        show(f"Not complete: {', '.join(lost)}\n{how}")
        return False
    failed = sum(work.failed for work in mine)
    if failed:
        show(f"{failed} samples failed after {ATTEMPTS} attempts, and count as model_error")
    others = [work for number, work in enumerate(works) if number % n != k - 1]
    if left := sum(not work.complete for work in others):
        show(f"Part {k}/{n} is done; {left} tasks of other parts are not complete yet")
        return not failed
    return _write_records(script, show, shared=n > 1) and not failed


def _must_fit(works: Sequence[Work], log_dir: str) -> None:
    """Before anything is paid: a directory that can be written, with logs of these tasks alone."""
    try:
        if path := local_path(log_dir):
            Path(path).mkdir(parents=True, exist_ok=True)
            TemporaryFile(dir=path).close()
        strangers = find_logs(works, log_dir)
    except Exception as ex:  # whatever a file system finds wrong
        raise ValueError(f"--log-dir {log_dir}: {type(ex).__name__}: {ex}") from ex
    if strangers:
        raise ValueError(of_another_study(log_dir, strangers[0]))


def _shares(workers: int, max_connections: int | None) -> list[int]:
    """The connections of each worker, or 0 for Inspect's own limit."""
    share, rest = divmod(max_connections or 0, workers or 1)
    return [share + (slot < rest) for slot in range(workers)]


def _write_records(script: Script, show: Callable[[str], None], shared: bool) -> bool:
    """Have the script itself find every task done: it asks nothing and writes the records."""
    status, said = run_here(script)
    if status and shared:
        # Parts that end at the same moment both are here, and the other may have removed an
        # attempt that is superseded while this one read it.
        status, said = run_here(script)
    show(said)
    return status == 0


@dataclass(frozen=True)
class _Running:
    worker: Worker
    work: Work
    logs: int
    """How many the task had before."""


class _Pool:
    """Workers at their tasks."""

    def __init__(
        self,
        script: Script,
        start: Start,
        works: Sequence[Work],
        connections: Sequence[int],
        elsewhere: bool,
        show: Callable[[str], None],
        budget: Budget,
    ) -> None:
        self.script, self.start, self.works, self.show = script, start, works, show
        self.connections, self.elsewhere, self.budget = connections, elsewhere, budget
        self.running: dict[int, _Running] = {}

    def run(self, progress: Callable[[str], None]) -> None:
        """Run until every task is complete or given up."""
        waiting = [work for work in self.works if not work.complete]
        before, begun, counted = sum(w.done() for w in self.works), time.monotonic(), 0.0
        while waiting or self.running:
            for slot in set(range(len(self.connections))) - self.running.keys():
                if waiting and self.budget.is_spent():
                    waiting.clear()
                if waiting:
                    self.running[slot] = self._begin(waiting.pop(0), self.connections[slot])
            time.sleep(_LOOK)
            looked = {slot: at.worker.poll() for slot, at in self.running.items()}
            ended = [(self.running.pop(slot), how) for slot, how in looked.items() if how]
            if ended or time.monotonic() - counted > _COUNT:
                find_logs(self.works, self.script.log_dir)
                counted = time.monotonic()
                line = one_line(self.works, len(self.running), counted - begun, before)
                progress(line + self.budget.told())
            waiting += [at.work for at, how in ended if self._again(at, how)]

    def _begin(self, work: Work, connections: int) -> _Running:
        work.attempts += 1
        document = selection(self.script, work, connections, self.elsewhere)
        return _Running(self.start(document), work, len(work.logs))

    def _again(self, at: _Running, how: Ended) -> bool:
        """Whether a task whose worker has ended is to be begun again."""
        work = at.work
        if how.unfit:
            raise ValueError(how.why)
        if how.well:
            self._await_log(at)
        if work.complete or self.budget.is_spent():
            return False
        why = f"{work.failed} samples failed" if work.finished else how.why
        again = work.attempts < ATTEMPTS
        self.show(f"{work.label}: {why}{'; going on' if again else '; given up'}")
        return again

    def _await_log(self, at: _Running) -> None:
        """Wait for what a worker wrote: a folder shared by machines may show it late."""
        until = time.monotonic() + _LATE
        while len(at.work.logs) == at.logs or at.work.logs[-1].status == "started":
            if time.monotonic() > until:
                break
            time.sleep(1)
            find_logs(self.works, self.script.log_dir)
        if len(at.work.logs) == at.logs:
            raise ValueError(
                f"{at.work.label}: its worker came to its end, but its log is not in "
                f"{self.script.log_dir} as this launch sees it. Take a --log-dir that all machines "
                "share: a folder or a URL"
            )

    def stop(self) -> None:
        """End the workers that are left: gently, so that each writes its log, then by force."""
        left = [at.worker for at in self.running.values() if at.worker.poll() is None]
        for worker in left:
            worker.interrupt()
        until = time.monotonic() + _GRACE
        try:
            while any(worker.poll() is None for worker in left) and time.monotonic() < until:
                time.sleep(_LOOK)
        except KeyboardInterrupt:
            pass
        for worker in left:
            if worker.poll() is None:
                worker.kill()
        self.running.clear()
