"""Running tasks in tests, and reading their logs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import GenerateConfig, Model, get_model
from inspect_ai.scorer import Score

from orbench_inspect.tasks import custom
from tests.fakes import FakeServer, Reply, Request
from tests.fakes.openai import chat

ANSWER = "Sure: first rinse the pan, then scrub it with salt until it shines."


def model_at(
    server: FakeServer, name: str = "evaluated", config: GenerateConfig | None = None
) -> Model:
    """A model behind a server that speaks OpenAI's chat completions."""
    return get_model(
        f"openai-api/fake/{name}",
        base_url=f"{server.url}/v1",
        api_key="none",
        memoize=False,
        config=config or GenerateConfig(max_retries=0),
    )


def judge_says(text: str) -> Callable[[Request], Reply]:
    """A server whose model answers and whose judge says the same of everything but France."""

    def answer(request: Request) -> Reply:
        if not request.is_judge:
            return chat(ANSWER)
        return chat("Plain. [[direct_answer]]" if "capital of France" in request.user else text)

    return answer


def judged(path: Path, server: FakeServer, wanted: str = "answer", **options: Any) -> EvalLog:
    """Run a file of prompts with model and judge on one server."""
    return run(
        custom(file=str(path), wanted=wanted),
        model_at(server),
        model_roles={"grader": model_at(server, "judge")},
        **options,
    )


def matched(path: Path, server: FakeServer, **options: Any) -> EvalLog:
    """Run a file of prompts with the matcher in place of a judge."""
    task = custom(file=str(path), wanted="answer", scorer="matcher")
    return run(task, model_at(server), **options)


def only_sample(log: EvalLog) -> EvalSample:
    """The sample of a log that has one."""
    assert log.samples, log.error
    assert len(log.samples) == 1
    return log.samples[0]


def score_of(log: EvalLog, name: str = "refusal") -> Score:
    """A score of the only sample."""
    return (only_sample(log).scores or {})[name]


def outcome_of(log: EvalLog) -> str | None:
    """The outcome of the only sample."""
    return score_of(log).answer


def run(task: Task, model: Any, **options: Any) -> EvalLog:
    """Run a task as a person would from Python, and return its log."""
    return eval(task, model=model, **options)[0]


def metrics(log: EvalLog, score: str = "refusal") -> dict[str, float]:
    """A score's metrics by name."""
    assert log.results is not None, log.error
    found = next(s for s in log.results.scores if s.name == score).metrics
    return {name: float(metric.value) for name, metric in found.items()}
