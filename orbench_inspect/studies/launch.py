"""Any `eval_set` script on several workers, one task each."""

import time
from collections.abc import Callable, Sequence

from orbench_inspect.studies.documents import must_know_documents, selection, tasks_of
from orbench_inspect.studies.engines import Ended, Engine, Script, Start, Worker
from orbench_inspect.studies.engines.local import local, run_here
from orbench_inspect.studies.progress import Work, find_logs, one_line

ATTEMPTS = 3
"""Times a task is begun before it is given up."""

_LOOK = 0.2
_COUNT = 5.0
_GRACE = 15.0


def launch(
    script: Script,
    workers: int,
    max_connections: int | None = None,
    show: Callable[[str], None] = print,
    progress: Callable[[str], None] = lambda line: None,
    engine: Engine = local,
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

    Returns:
        Whether every sample of every task is there and none failed.

    Raises:
        ValueError: If the script's tasks cannot be told, or Inspect is too old.
    """
    must_know_documents()
    works = tasks_of(script)
    find_logs(works, script.log_dir)
    workers = min(workers, len(works), max_connections or workers)
    with engine(script) as start:
        pool = _Pool(script, start, works, workers, max_connections, show)
        try:
            pool.run(progress)
        finally:
            pool.stop()
    find_logs(works, script.log_dir)
    if not all(work.finished for work in works):
        lost = [work.label for work in works if not work.finished]
        show(f"Not complete: {', '.join(lost)}\nThe same command asks what is missing")
        return False
    # The script itself finds every task done, asks nothing and writes the set's records.
    status, said = run_here(script)
    show(said)
    if failed := sum(work.failed for work in works):
        show(f"{failed} samples failed after {ATTEMPTS} attempts, and count as model_error")
    return status == 0 and not failed


class _Pool:
    """Workers at their tasks."""

    def __init__(
        self,
        script: Script,
        start: Start,
        works: Sequence[Work],
        workers: int,
        max_connections: int | None,
        show: Callable[[str], None],
    ) -> None:
        self.script, self.start, self.works, self.show = script, start, works, show
        self.slots = dict.fromkeys(range(workers), 0)
        if max_connections is not None:
            share, rest = divmod(max_connections, workers)
            self.slots = {slot: share + (slot < rest) for slot in range(workers)}
        self.running: dict[int, tuple[Worker, Work]] = {}

    def run(self, progress: Callable[[str], None]) -> None:
        """Run until every task is complete or given up."""
        waiting = [work for work in self.works if not work.complete]
        before, begun, counted = sum(w.done() for w in self.works), time.monotonic(), 0.0
        while waiting or self.running:
            for slot in self.slots.keys() - self.running.keys():
                if waiting:
                    self.running[slot] = self._begin(waiting.pop(0), slot)
            time.sleep(_LOOK)
            ended = [(how, self.running.pop(slot)[1]) for slot, how in self._ended().items()]
            if ended or time.monotonic() - counted > _COUNT:
                find_logs(self.works, self.script.log_dir)
                counted = time.monotonic()
                progress(one_line(self.works, len(self.running), counted - begun, before))
            waiting += [work for how, work in ended if self._again(how, work)]

    def _begin(self, work: Work, slot: int) -> tuple[Worker, Work]:
        work.attempts += 1
        return self.start(selection(self.script, work, self.slots[slot])), work

    def _ended(self) -> dict[int, Ended]:
        looked = {slot: worker.poll() for slot, (worker, _) in self.running.items()}
        return {slot: how for slot, how in looked.items() if how is not None}

    def _again(self, how: Ended, work: Work) -> bool:
        """Whether a task whose worker has ended is to be begun again."""
        if work.complete:
            return False
        why = f"{work.failed} samples failed" if work.finished else how.why
        again = work.attempts < ATTEMPTS
        self.show(f"{work.label}: {why}{'; going on' if again else '; given up'}")
        return again

    def stop(self) -> None:
        """End the workers that are left: gently, so that each writes its log, then by force."""
        left = [worker for worker, _ in self.running.values() if worker.poll() is None]
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
