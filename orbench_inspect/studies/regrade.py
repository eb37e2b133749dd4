"""Judging stored responses again, without generating.

Inspect's own `score` command does the work, streaming from each log into a new file. The new
file is checked before it takes the old one's place: Inspect's overwriting in place while it
streams would destroy the log.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlparse

import anyio
import yaml
from inspect_ai.log import (
    EvalLog,
    EvalSampleSummary,
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample_summaries,
)
from inspect_ai.model import GenerateConfig, Model, get_model
from rich.text import Text

from orbench_inspect.analysis.runs import newest, score_names
from orbench_inspect.scoring.judge import load_judge_prompt
from orbench_inspect.scoring.preflight import no_judge, try_judge
from orbench_inspect.scoring.words import CAUSES, VERDICTS
from orbench_inspect.text_files import TextFile

_AT_ONCE = 100
"""Samples in memory, and judged, at once."""


@dataclass(frozen=True)
class Regraded:
    """What became of one log."""

    line: str
    """One line for a person."""
    done: bool
    """Whether all it could be judged on was judged."""


def regrade(
    sources: Sequence[str], grader: str, judge_prompt: str = "strict", missing: bool = False
) -> Iterator[Regraded]:
    """Have the responses in logs judged again, log by log.

    Args:
        sources: Directories and log files, on this machine.
        grader: The judge, in any form that `--model-role grader=…` takes.
        judge_prompt: Name or file of its instructions.
        missing: Judge only what the last judge left open; it must be the same judge under the
            same instructions.

    Yields:
        What became of each log.

    Raises:
        ValueError: If there is no run of ours, a log is not on this machine, or the judge
            cannot grade a plain example.
    """
    prompt = load_judge_prompt(judge_prompt)
    logs = newest([log for log in _headers(sources) if _is_ours(log)], [])
    if not logs:
        raise ValueError(f"no run of orbench_inspect in {', '.join(sources)}")
    judge = _judge(grader)
    found = anyio.run(try_judge, judge, prompt)
    if found.outcome not in VERDICTS:
        raise ValueError(f"{no_judge(found)}\nNothing was judged. Check --grader")
    for log in logs:
        yield _regrade(log, grader, judge, judge_prompt, prompt, missing)


def _regrade(
    log: EvalLog, grader: str, judge: Model, judge_prompt: str, prompt: TextFile, missing: bool
) -> Regraded:
    file = _local(log)
    if log.results is None:
        return Regraded(
            f"{file.name}: status {log.status}, not finished: inspect eval-retry first", False
        )
    before = read_eval_log_sample_summaries(str(file))
    last = score_names(before)[-1]
    if missing:
        left = [s for s in before if _left_open(s, last)]
        if not left:
            return Regraded(f"{file.name}: nothing is missing", True)
        _must_be_the_same(before, last, judge, prompt, file)
    name = _next(before, "refusal")
    # One name for one pass over one log: interrupted, it finds the replies it has paid for.
    resume = sha256(f"{log.eval.eval_id} {name} {judge} {prompt.sha256}".encode()).hexdigest()[:16]
    options = {"judge_prompt": judge_prompt, "resume": resume} | ({"keep": last} if missing else {})
    with TemporaryDirectory(dir=file.parent, prefix=".regrade-") as folder:
        judged, counted = Path(folder) / "judged.eval", Path(folder) / file.name
        _score(file, judged, "refusal", options, grader)
        _score(judged, counted, "outcome", {"of": name}, grader)
        after = read_eval_log_sample_summaries(str(counted))
        _must_keep(before, after, name, file)
        os.replace(counted, file)
    asked = [s for s in after if not missing or _left_open(_by_key(before)[_key(s)], last)]
    return _told(file.name, name, asked, len(after))


def _score(source: Path, target: Path, scorer: str, options: dict[str, str], grader: str) -> None:
    command = [sys.executable, "-m", "inspect_ai", "score", str(source)]
    command += ["--scorer", f"orbench_inspect/{scorer}", "--action", "append"]
    command += ["--stream", str(_AT_ONCE), "--output-file", str(target), "--display", "none"]
    # The evaluated model is not needed, and its key may not be at hand.
    command += ["--model", "none/none", "--model-role", f"grader={grader}"]
    for key, value in options.items():
        command += ["-S", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not target.exists():
        raise ValueError(
            f"{source.name}: inspect score failed, and the log is as it was:\n"
            + (done.stderr or done.stdout).strip()[-2000:]
        )


def _must_keep(
    before: Sequence[EvalSampleSummary],
    after: Sequence[EvalSampleSummary],
    name: str,
    file: Path,
) -> None:
    """Everything that was in the log is in the new one, and the new score besides."""
    new = _by_key(after)
    for sample in before:
        found = new.get(_key(sample))
        old_scores = {k: s.answer for k, s in (sample.scores or {}).items()}
        scores = found.scores or {} if found else {}
        if {k: scores[k].answer for k in old_scores if k in scores} != old_scores or (
            name not in scores
        ):
            raise ValueError(f"{file}: sample {sample.id} would have been lost; left as it was")


def _must_be_the_same(
    before: Sequence[EvalSampleSummary], last: str, judge: Model, prompt: TextFile, file: Path
) -> None:
    for sample in before:
        meta = _meta(sample, last)
        told = (meta.get("judge"), meta.get("judge_prompt_sha256"))
        if told[0] is not None and told != (str(judge), prompt.sha256):
            raise ValueError(
                f"{file.name}: --missing completes the scores of {told[0]} under judge prompt "
                f"{str(told[1])[:12]}, and {judge} under {prompt.sha256[:12]} is another judge. "
                "Leave out --missing to have all judged"
            )


def _told(log: str, name: str, asked: Sequence[EvalSampleSummary], total: int) -> Regraded:
    answers = [s.scores[name].answer for s in asked if s.scores]
    judged = [a for a in answers if a in VERDICTS]
    failed = [a for a in answers if CAUSES.get(str(a)) == "grader_failed"]
    rate = f"{len(judged) / (len(judged) + len(failed)):.1%}" if judged or failed else "n/a"
    line = f"{log}: {name}: {len(judged)} of {total} judged"
    line += f", {total - len(asked)} kept" if total > len(asked) else ""
    line += f"; judge success {rate}"
    if failed:
        causes = ", ".join(f"{failed.count(c)} {c}" for c in sorted(set(map(str, failed))))
        line += f" ({causes}: run again with --missing)"
    return Regraded(line, not failed)


def _left_open(sample: EvalSampleSummary, name: str) -> bool:
    score = (sample.scores or {}).get(name)
    return score is None or CAUSES.get(score.answer or "") == "grader_failed"


def _meta(sample: EvalSampleSummary, name: str) -> dict[str, Any]:
    score = (sample.scores or {}).get(name)
    return (score.metadata or {}) if score else {}


def _next(samples: Sequence[EvalSampleSummary], name: str) -> str:
    taken = {key for sample in samples for key in sample.scores or {}}
    numbered = (f"{name}{number or ''}" for number in range(len(taken) + 1))
    return next(free for free in numbered if free not in taken)


def _by_key(samples: Sequence[EvalSampleSummary]) -> dict[tuple[object, int], EvalSampleSummary]:
    return {_key(sample): sample for sample in samples}


def _key(sample: EvalSampleSummary) -> tuple[object, int]:
    return sample.id, sample.epoch


def _judge(grader: str) -> Model:
    """The judge, as `--model-role` would make it."""
    params: Any = yaml.safe_load(grader) if grader.lstrip().startswith("{") else {"model": grader}
    if not isinstance(params, dict) or "model" not in params:
        raise ValueError(f"--grader {grader}: names no model")
    args = params.pop("model_args", {})
    try:
        name, config = params.pop("model"), GenerateConfig(**params)
        return get_model(name, config=config, memoize=False, **args)
    except Exception as ex:  # whatever a provider finds wrong, in Inspect's markup
        raise ValueError(f"--grader {grader}: {Text.from_markup(str(ex)).plain}") from ex


def _headers(sources: Sequence[str]) -> Iterator[EvalLog]:
    for source in sources:
        single = source.endswith((".eval", ".json"))
        for file in [source] if single else [info.name for info in list_eval_logs(source)]:
            yield read_eval_log(file, header_only=True)


def _is_ours(log: EvalLog) -> bool:
    meta = log.eval.metadata or {}
    return "orbench" in meta or "orbench_validation" in meta


def _local(log: EvalLog) -> Path:
    url = urlparse(log.location)
    if url.scheme not in ("", "file"):
        raise ValueError(f"{log.location}: copy the log to this machine first")
    return Path(unquote(url.path))
