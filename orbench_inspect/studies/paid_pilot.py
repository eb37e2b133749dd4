"""A pilot: a script on few prompts, paid for, so that a plan need not assume."""

import shlex
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path


def run_pilot(script: str, args: Sequence[str], prompts: int, prices: Path | None = None) -> str:
    """Run a script on the first prompts of each set.

    What it prints goes to standard error. For the same script, arguments and number the
    directory is the same: what is there is not asked again.

    Args:
        script: One that takes `--limit` and `--log-dir`, as those in evals/ do.
        args: Its arguments.
        prompts: How many.
        prices: File of prices, for a script that has a budget among its arguments.

    Returns:
        The directory of its logs.

    Raises:
        ValueError: If it fails or a sample does.
    """
    named = sha256("\0".join([script, *args, str(prompts)]).encode()).hexdigest()[:8]
    log_dir = f"logs/pilot-{Path(script).stem}-{named}"
    command = [script, *args, "--limit", str(prompts), "--log-dir", log_dir]
    given = {arg.partition("=")[0] for arg in args}
    if "--toxic-limit" in given:
        command += ["--toxic-limit", str(prompts)]
    if "--budget" in given and prices is not None:
        command += ["--model-cost-config", str(prices)]
    stderr = 2  # by number: what is printed besides may be JSON
    done = subprocess.run([sys.executable, *command], stdout=stderr, check=False)
    if done.returncode:
        raise ValueError(
            f"the pilot ended with exit code {done.returncode}: python {shlex.join(command)}\n"
            f"What was answered is in {log_dir}, and the same plan goes on from there; --pilot "
            f"{log_dir} takes it as it is"
        )
    return log_dir
