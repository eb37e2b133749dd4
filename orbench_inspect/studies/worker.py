"""A worker of `orbench launch`: runs a script, and ends with whoever launched it.

    python -m orbench_inspect.studies.worker SCRIPT [ARGUMENTS]

Standard input is a pipe that nobody writes to. It ends when the launcher does, however that
happens: a worker that ran on would be paid for what the next launch asks again.
"""

import os
import runpy
import signal
import sys
import threading
from pathlib import Path

from orbench_inspect.budget import held_from_environment
from orbench_inspect.studies.capture import SELECTION
from orbench_inspect.studies.documents import must_know_documents


def main() -> None:
    """Run the script as `python SCRIPT` would."""
    threading.Thread(target=_end_with_launcher, daemon=True).start()
    # The launcher's to say, by SIGINT, which what Ray starts has blocked. A scheduler that ends
    # a job tells SIGTERM to all its processes: a worker would be gone before it wrote its log.
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if SELECTION in os.environ:
        must_know_documents()  # on another machine it may be another Inspect
    script, sys.argv = sys.argv[1], sys.argv[1:]
    sys.path[0] = str(Path(script).resolve().parent)
    with held_from_environment():
        runpy.run_path(script, run_name="__main__")


def _end_with_launcher() -> None:
    # Not through sys.stdin: its lock would be held when the interpreter shuts down.
    while os.read(0, 1):
        pass
    # What the script has started, such as a model server, is in its process group.
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
