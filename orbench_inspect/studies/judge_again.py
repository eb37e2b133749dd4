"""One pass of a judge over one log: a new score beside those that are there.

The log is never written in place. What was judged goes into a file that no reader of logs
takes for one; it is checked, and then it takes the log's place at once.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import yaml
from inspect_ai import score
from inspect_ai.log import (
    EvalLog,
    EvalSampleSummary,
    read_eval_log,
    read_eval_log_sample_summaries,
    write_eval_log,
)
from inspect_ai.model import GenerateConfig, Model, get_model
from rich.text import Text

from orbench_inspect.scoring.judge import JUDGE_PROMPTS
from orbench_inspect.scoring.outcome import outcome
from orbench_inspect.scoring.refusal import refusal
from orbench_inspect.text_files import TextFile, known_texts

IN_MEMORY = 2_000
"""Samples up to which a log is judged in memory; beyond, from file to file."""

_AT_ONCE = 100
"""Samples in memory, and judged, at once where a log is judged from file to file."""

# The evaluated model is not needed, and its key may not be at hand.
_NO_MODEL = "none/none"


@dataclass(frozen=True)
class Pass:
    """What is to be judged, by whom."""

    name: str
    """Name that Inspect gives the new score."""
    grader: str
    """The judges, as `--model-role grader=…` takes them."""
    prompt: TextFile
    """Their instructions."""
    options: dict[str, Any]
    """Options of the scorer `refusal`."""


def judges_of(grader: str) -> list[Model]:
    """The judges that `--model-role grader=…` would bind, in clients of their own.

    Args:
        grader: A name, names with commas between them, or YAML: a list of names, or a mapping
            of `model`, `model_args` and settings, or a list of such.

    Raises:
        ValueError: If it names no model, or one that cannot be made.
    """
    try:
        params: Any = yaml.safe_load(grader)
    except yaml.YAMLError as ex:
        raise ValueError(f"--grader {grader}: not a name, and not YAML ({ex})") from ex
    if isinstance(params, str):
        params = params.split(",")
    params = params if isinstance(params, list) else [params]
    return [_judge(grader, one) for one in params]


def _judge(grader: str, params: Any) -> Model:
    params = {"model": params} if isinstance(params, str) else params
    if not isinstance(params, dict) or not params.get("model"):
        raise ValueError(f"--grader {grader}: one of the judges has no name")
    settings = {k: v for k, v in params.items() if k not in ("model", "model_args")}
    try:
        config = GenerateConfig(**settings)
        args = params.get("model_args", {})
        return get_model(params["model"], config=config, memoize=False, **args)
    except Exception as ex:  # whatever a provider finds wrong, in Inspect's markup
        raise ValueError(f"--grader {grader}: {Text.from_markup(str(ex)).plain}") from ex


def judge_again(
    file: Path, before: Sequence[EvalSampleSummary], todo: Pass
) -> Sequence[EvalSampleSummary]:
    """Add a judge's score, and its outcomes, to a log.

    Args:
        file: The log.
        before: Its samples.
        todo: What is to be judged, by whom.

    Returns:
        Its samples with the new score.

    Raises:
        ValueError: If judging fails, something would be lost, or the log was changed
            meanwhile; the log is as it was.
    """
    form: Literal["eval", "json"] = "json" if file.suffix == ".json" else "eval"
    new = file.with_name(f".{file.name}.{os.getpid()}.part")
    then = _stamp(file)
    try:
        failed = any(next_name(sample.scores or {}) != todo.name for sample in before)
        if form == "json" or len(before) <= IN_MEMORY or failed:
            write_eval_log(_in_memory(read_eval_log(str(file)), todo), str(new), format=form)
        else:
            _file_to_file(file, new, todo)
        after = read_eval_log_sample_summaries(str(new), format=form)
        _must_keep(before, after, todo.name, file)
        if _stamp(file) != then:
            raise ValueError(
                f"{file.name}: changed while it was judged, and was left alone. Run again: "
                "what is paid for is not paid for twice"
            )
        os.replace(new, file)
    finally:
        new.unlink(missing_ok=True)
    return after


def next_name(taken: Iterable[str]) -> str:
    """The name that Inspect gives a new score of `refusal` beside those there are."""
    names = {*taken}
    numbered = (f"refusal{number or ''}" for number in range(len(names) + 1))
    return next(free for free in numbered if free not in names)


def remove_stale(file: Path) -> None:
    """Remove what a pass over a log that was killed has left beside it."""
    for stale in file.parent.glob(f".{escape(file.name)}.*.part"):
        stale.unlink(missing_ok=True)


def _in_memory(log: EvalLog, todo: Pass) -> EvalLog:
    # The judges the log was run with have no part in this, and their keys may not be at hand.
    roles, log.eval.model_roles = log.eval.model_roles, None
    # A sample that failed has no score: Inspect would give its first the name of an earlier one.
    samples = log.samples or []
    log.samples = [s for s in samples if next_name(s.scores or {}) == todo.name]
    judged = score(
        log,
        [refusal(**todo.options), outcome(of=todo.name)],
        model=_NO_MODEL,
        model_roles={"grader": judges_of(todo.grader)},
        action="append",
        display="none",
        copy=False,
    )
    judged.eval.model_roles, judged.samples = roles, samples
    return judged


def _file_to_file(file: Path, new: Path, todo: Pass) -> None:
    # In the system's folder for such: whatever ends in .eval beside the log is read as one.
    with TemporaryDirectory(prefix="orbench-regrade-") as name:
        folder = Path(name)
        source, judged, counted = (folder / f"{n}.eval" for n in ("source", "judged", "counted"))
        shutil.copyfile(file, source)
        log = read_eval_log(str(source), header_only=True)
        roles, log.eval.model_roles = log.eval.model_roles, None
        write_eval_log(log, str(source), header_only=True)
        options = todo.options | {"judge_prompt": _unchanged(todo, folder)}
        _inspect_score(file, source, judged, "refusal", options, todo.grader)
        _inspect_score(file, judged, counted, "outcome", {"of": todo.name}, todo.grader)
        log = read_eval_log(str(counted), header_only=True)
        log.eval.model_roles = roles
        write_eval_log(log, str(counted), header_only=True)
        shutil.copyfile(counted, new)


def _unchanged(todo: Pass, folder: Path) -> str:
    """The judge prompt, so that no comma in its path and no other folder changes it."""
    asked: str = todo.options["judge_prompt"]
    if asked in known_texts(JUDGE_PROMPTS):
        return asked
    path = folder / "judge_prompt.md"
    head = yaml.safe_dump({**todo.prompt.meta, "id": todo.prompt.id})
    path.write_text(f"---\n{head}---\n{todo.prompt.text}\n", encoding="utf-8")
    return str(path)


def _inspect_score(
    file: Path, source: Path, target: Path, scorer: str, options: dict[str, Any], grader: str
) -> None:
    command = [sys.executable, "-m", "inspect_ai", "score", str(source)]
    command += ["--scorer", f"orbench_inspect/{scorer}", "--action", "append"]
    command += ["--stream", str(_AT_ONCE), "--output-file", str(target), "--display", "none"]
    command += ["--model", _NO_MODEL, "--model-role", f"grader={grader}"]
    for key, value in options.items():
        command += ["-S", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not target.exists():
        raise ValueError(
            f"{file.name}: inspect score failed, and the log is as it was:\n"
            + (done.stderr or done.stdout).strip()[-2000:]
        )


def _must_keep(
    before: Sequence[EvalSampleSummary],
    after: Sequence[EvalSampleSummary],
    name: str,
    file: Path,
) -> None:
    """Everything that was in the log is in the new one, and the new score besides."""
    new = {(sample.id, sample.epoch): sample.scores or {} for sample in after}
    for sample in before:
        scores = new.get((sample.id, sample.epoch), {})
        lost = name not in scores and next_name(sample.scores or {}) == name
        lost |= (sample.id, sample.epoch) not in new
        old = {k: s.answer for k, s in (sample.scores or {}).items()}
        if lost or {k: scores[k].answer for k in old if k in scores} != old:
            raise ValueError(f"{file}: sample {sample.id} would have been lost; left as it was")


def _stamp(file: Path) -> tuple[int, int]:
    stat = file.stat()
    return stat.st_mtime_ns, stat.st_size
