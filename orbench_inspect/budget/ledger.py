"""What a study has cost: small files in its log directory, one of each process that paid.

    LOGDIR/spent/PROCESS.json

Their sum is what was paid, attempts that failed or were killed included, for that money is gone.
A process writes its file once a second while something changes, and when it ends; it reads the
others' every two seconds. Where little is left it does both five times a second: what others
begin is then seen half a second late. A process that is killed loses what it paid in its last
second, and the calls that it had open.
"""

import json
import os
import threading
import time
from dataclasses import asdict, dataclass
from typing import Any, cast
from uuid import uuid4

from fsspec.core import url_to_fs

_TICK, _HURRY = 1.0, 0.2
_GONE = 15.0
"""Seconds without a sign of life after which a process's open samples count no more."""


@dataclass
class Account:
    """What one process has paid, as its file tells it."""

    dollars: float = 0.0
    sample: float | None = None
    """Mean dollars of a finished sample in the dearest of its tasks; None before there is one."""
    open: int = 0
    """Samples begun and not ended."""
    stopped: float | None = None
    """The budget at which it stopped, if it did."""
    runs: tuple[str, ...] = ()
    """Ids of the evals that it paid for."""
    beat: int = 0
    """Rises while samples are open: a sign of life."""


class Ledger:
    """The accounts of a study, of which one is this process's own."""

    def __init__(self, log_dir: str) -> None:
        self.log_dir = log_dir
        self.own = Account()
        self.hurry = False
        """Whether little is left."""
        self.broken: Exception | None = None
        """Why the files could not be read or written."""
        self._others: dict[str, tuple[Account, float]] = {}
        folder = f"{log_dir.rstrip('/')}/spent"
        found = url_to_fs(folder, skip_instance_cache=True, use_listings_cache=False)
        self._fs, self._folder = cast("tuple[Any, str]", found)
        self._name = f"{uuid4().hex}.json"
        self._written = asdict(self.own)
        self._ended = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    @property
    def spent(self) -> float:
        """Dollars of the whole study."""
        return sum(account.dollars for account in self._accounts())

    @property
    def sample(self) -> float | None:
        """What a sample of the dearest task costs; None where none has ended."""
        means = (account.sample for account in self._accounts())
        return max((mean for mean in means if mean is not None), default=None)

    @property
    def open(self) -> int:
        """Samples begun and not ended, in all processes that live."""
        alive = time.monotonic() - _GONE
        return self.own.open + sum(o.open for o, seen in self._others.values() if seen > alive)

    @property
    def stopped(self) -> float:
        """The highest budget that was found spent; 0 where none was."""
        return max(account.stopped or 0.0 for account in self._accounts())

    @property
    def runs(self) -> set[str]:
        """Ids of the evals that are paid for here."""
        return {id for account in self._accounts() for id in account.runs}

    def _accounts(self) -> list[Account]:
        return [self.own, *(account for account, _ in self._others.values())]

    def read(self) -> None:
        """Read the other processes' accounts."""
        try:
            names = {path.rsplit("/", 1)[-1] for path in self._fs.ls(self._folder, detail=False)}
        except FileNotFoundError:
            return
        others = dict(self._others)
        for name in names:
            if name == self._name or not name.endswith(".json"):
                continue
            account = _account(f"{self._folder}/{name}", self._fs)
            known = others.get(name)
            others[name] = known if known and known[0] == account else (account, time.monotonic())
        self._others = others

    def begin(self) -> None:
        """Read the accounts, and from now on keep them."""
        self.read()
        self._keeper.start()

    def end(self) -> None:
        """Write the own account for the last time."""
        self._ended.set()
        self._keeper.join()
        self._write()

    def _keep(self) -> None:
        odd = False
        while not self._ended.wait(_HURRY if self.hurry else _TICK):
            odd = not odd
            try:
                self._write()
                if odd or self.hurry:
                    self.read()
                self.broken = None
            except Exception as ex:  # told by whoever asks for the next sample
                self.broken = ex

    def _write(self) -> None:
        self.own.beat += bool(self.own.open)
        account = asdict(self.own)
        if account == self._written:
            return
        path, local = f"{self._folder}/{self._name}", "local" in self._fs.protocol
        self._fs.makedirs(self._folder, exist_ok=True)
        self._fs.pipe_file(f"{path}.part" if local else path, json.dumps(account).encode())
        if local:  # elsewhere a file is there whole or not at all
            os.replace(f"{path}.part", path)
        self._written = account


def _account(path: str, fs: Any) -> Account:
    told = fs.cat_file(path)
    try:
        account = Account(**json.loads(told))
    except (ValueError, TypeError) as ex:
        raise ValueError(
            f"{path} does not tell what was paid: put back what it said, or take a new --log-dir"
        ) from ex
    account.runs = tuple(account.runs)
    return account
