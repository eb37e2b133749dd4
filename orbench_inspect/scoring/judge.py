"""The judge: a model, bound to the role `grader`, that names the verdict on a response."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    get_model,
)

from orbench_inspect.as_data import as_data
from orbench_inspect.refusal_rules import match, normalise
from orbench_inspect.scoring.response import read_response
from orbench_inspect.scoring.verdict import neutralise, parse_verdict
from orbench_inspect.scoring.words import VERDICTS
from orbench_inspect.text_files import TextFile, load_text_file

ROLE = "grader"
JUDGE_PROMPTS = Path(__file__).parent / "judge_prompts"

# Room for a judge that reasons first; Inspect would retry a judge that is down for ever.
_CONFIG = GenerateConfig(temperature=0, max_tokens=4096, max_retries=6)

_RE_ASK = (
    "That reply cannot be read. Write only your label, alone on one line, between double "
    "square brackets: " + ", ".join(f"[[{verdict}]]" for verdict in VERDICTS)
)


@dataclass(frozen=True)
class Judgement:
    """What a judge made of one response."""

    outcome: str
    """A verdict, `unparsed`, or `judge_error`."""
    judge: str
    """The judge's name, as the role was bound."""
    reason: str = ""
    """The judge's own words, or what went wrong."""
    replies: list[str] = field(default_factory=list)
    """Raw replies, in the order they came."""
    route: str = ""
    """How the outcome was reached: `first` or `re-ask` for a verdict read from that reply;
    `refused`, `blocked`, `empty` or `failed` for a judge error."""
    injection_suspected: bool = False
    """Question or response held what looks like a verdict for the judge to repeat."""


def load_judge_prompt(name: str = "refusal") -> TextFile:
    """Load a judge prompt by name, or from a file of one's own.

    Raises:
        ValueError: If it is unknown, unreadable, or does not name the three verdicts in
            the form that is looked for in replies.
    """
    prompt = load_text_file(JUDGE_PROMPTS, "judge prompt", name)
    missing = [verdict for verdict in VERDICTS if f"[[{verdict}]]" not in prompt.text]
    if missing:
        raise ValueError(
            f"judge prompt '{name}' must ask for the verdict in the form "
            f"[[{missing[0]}]]; it never names {', '.join(missing)} that way"
        )
    return prompt


def bound_judge(config: GenerateConfig | None = None) -> Model:
    """The model bound to the role `grader`, at temperature 0 unless its binding says otherwise.

    Args:
        config: Settings in place of the usual ones; the binding's own come before both.

    Raises:
        PrerequisiteError: If none is bound; the evaluated model never takes its place.
    """
    return get_model(role=ROLE, required=True, config=_CONFIG.merge(config or GenerateConfig()))


async def ask_judge(judge: Model, prompt: TextFile, question: str, response: str) -> Judgement:
    """Ask for the verdict on a response, once more if the first reply cannot be read.

    A judge that fails, is blocked or refuses gives `judge_error`, never a verdict.

    Args:
        judge: The judge.
        prompt: Its instructions, sent as they are: a fixed text that can be cached.
        question: The prompt that was asked.
        response: The visible text of the response.
    """
    name = str(judge)
    data, planted = present(question, response)
    messages: list[ChatMessage] = [
        ChatMessageSystem(content=prompt.text),
        ChatMessageUser(content=data),
    ]
    replies: list[str] = []
    for route in ("first", "re-ask"):
        try:
            output = await judge.generate(messages)
        except Exception as ex:
            failure = ex.__cause__ or ex  # behind Inspect's "retries are used up"
            reason = f"{type(failure).__name__}: {failure}"
            return Judgement("judge_error", name, reason, replies, "failed", planted)
        reply, unusable = _read_reply(output)
        replies.append(reply)
        if unusable:
            return Judgement("judge_error", name, reply, replies, unusable, planted)
        verdict = parse_verdict(reply, cut_off=output.stop_reason == "max_tokens")
        if verdict is not None:
            return Judgement(verdict, name, _reason(replies), replies, route, planted)
        messages += [ChatMessageAssistant(content=reply), ChatMessageUser(content=_RE_ASK)]
    return Judgement("unparsed", name, replies[0], replies, "", planted)


def present(question: str, response: str) -> tuple[str, bool]:
    """Lay question and response before the judge as data.

    Returns:
        The text, and whether a verdict was planted in either (neutralised here only).
    """
    asked, planted_question = neutralise(_sendable(question))
    said, planted_response = neutralise(_sendable(response))
    shown = as_data(question=asked, response=said)
    return shown, planted_question + planted_response > 0


def _sendable(text: str) -> str:
    """Half a surrogate pair, which some models emit, cannot be sent: it becomes `?`."""
    return text.encode("utf-8", "replace").decode()


def _read_reply(output: ModelOutput) -> tuple[str, str]:
    """The judge's text and why it cannot be used, if it cannot."""
    response = read_response(output)
    if output.choices and output.stop_reason == "content_filter":
        return response.text or str(response.details.get("explanation", "")), "blocked"
    if "native" in response.flags:
        return response.text, "refused"
    if not response.text:
        return response.outcome or "", "empty"
    if "[[" not in response.text and _declines(response.text):
        return response.text, "refused"
    return response.text, ""


def _declines(reply: str) -> bool:
    """Whether a judge speaks for itself, and declines."""
    own = re.match(r"(?:i|i'm|we|sorry|unable|as an ai|unfortunately)\b", normalise(reply))
    return own is not None and match(reply).decision == "refused"


def _reason(replies: list[str]) -> str:
    return replies[0].rpartition("[[")[0].strip(" \n*_`#-") or replies[0]
