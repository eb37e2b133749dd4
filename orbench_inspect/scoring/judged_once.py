"""One judgement for one text: identical questions and responses come before a judge once a run.

It saves what temperature 0 repeats: epochs, and arms that lead to the same response. A run is
all that shares an event loop: the tasks that Inspect runs together.
"""

from dataclasses import dataclass, field, replace
from hashlib import sha256

from anyio import Event
from anyio.lowlevel import RunVar
from inspect_ai.model import GenerateConfig, Model

from orbench_inspect.scoring.judge import Judgement, Settings, ask_judge, judge_settings
from orbench_inspect.scoring.words import VERDICTS
from orbench_inspect.text_files import TextFile


@dataclass(frozen=True)
class Judged:
    """Whose response is judged; repetitions that are to differ are never judged together."""

    sample: str
    """Its uuid."""
    epoch: int = 1
    """Epochs share a judgement of a judge at temperature 0 only."""
    replicate: int = 1
    seat: int = 0
    """Number of the judge in its panel: a judge that sits there twice is asked twice."""


@dataclass
class _Run:
    found: dict[bytes, tuple[Judgement, str]] = field(default_factory=dict)
    """Verdicts, and the samples they were first given for."""
    asking: dict[bytes, Event] = field(default_factory=dict)


_RUN: RunVar[_Run] = RunVar("orbench_judged_once")


async def judge_once(
    judge: Model,
    prompt: TextFile,
    question: str,
    response: str,
    config: GenerateConfig | None,
    judged: Judged,
) -> Judgement:
    """Ask for the verdict on a response, or take the one that was given in this run.

    Who asks while the same is being asked waits for it. Only verdicts are kept: after a judge
    that failed, was blocked or could not be read the next one asks anew.

    Args:
        judge: As for `ask_judge`.
        prompt: As for `ask_judge`.
        question: As for `ask_judge`.
        response: As for `ask_judge`.
        config: As for `ask_judge`.
        judged: Whose response it is.
    """
    run = _run()
    settings = judge_settings(judge, config)
    key = _key(judge, settings, judged, prompt.sha256, question, response)
    while key in run.asking:
        await run.asking[key].wait()
    if key in run.found:
        found, sample = run.found[key]
        return replace(found, judged_with=sample, tokens=0, cost=None)
    run.asking[key] = Event()
    try:
        found = await ask_judge(judge, prompt, question, response, config)
        if found.outcome in VERDICTS:
            run.found[key] = found, judged.sample
        return found
    finally:  # cancelled, too: those who wait ask for themselves
        run.asking.pop(key).set()


def _run() -> _Run:
    run = _RUN.get(None)
    if run is None:
        run = _Run()
        _RUN.set(run)
    return run


def _key(judge: Model, settings: Settings, judged: Judged, *texts: str) -> bytes:
    asked = (
        *(str(judge), judge.api.base_url, sorted(judge.model_args.items()), settings.told),
        *(*texts, judged.replicate, judged.seat),
        None if settings.config.temperature == 0 else judged.epoch,
    )
    return sha256(repr(asked).encode("utf-8", "backslashreplace")).digest()
