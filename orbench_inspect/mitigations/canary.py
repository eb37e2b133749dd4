"""Does system text arrive? Some chat templates drop or reject it, and then all arms tie."""

from dataclasses import dataclass
from typing import Literal

from inspect_ai.model import (
    CachePolicy,
    ChatMessage,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
)

from orbench_inspect.mitigations.catalogue import Mitigation
from orbench_inspect.mitigations.composed import Composed, SystemAs
from orbench_inspect.text_files import hash_text

_WORD = "pelican"
_SYSTEM = f'The word of the day is "{_WORD}".'
_QUESTION = "What is the word of the day?"

# Room for a model that reasons first, as the tasks give it.
_MAX_TOKENS = 4096

# Tokens that the text adds to a request at the least, if it is in it.
_ADDED_TOKENS = 4


@dataclass(frozen=True)
class Canary:
    """What a model made of a harmless instruction in the place of system text."""

    state: Literal["observed", "inconclusive", "not_observed", "rejected"]
    """`inconclusive`: the text was counted among the tokens, or the reply is empty or
    blocked; `rejected`: errors with system text, and none without."""
    reply: str
    """The model's reply, or its error."""


async def observe_system(model: Model, system_as: SystemAs = "system") -> Canary:
    """Tell a model a word in its system text, and ask for the word.

    A first reply that knows the word is kept for a week in Inspect's cache, under the model,
    its arguments, its address and the way of sending; after any other the model is asked
    again each time.

    Args:
        model: The model.
        system_as: How system text is sent.

    Raises:
        ValueError: If the model answers neither with system text nor without.
    """
    told = Composed(Mitigation(id="canary", system=_SYSTEM), None, system_as).onto(_asked())
    try:
        output = await _ask(model, told, _kept(model))
        if _tells(output):
            return Canary("observed", output.completion[:1000])
        output = await _ask(model, told)
    except Exception as ex:
        return await _rejected(model, told, ex)
    if _tells(output):
        return Canary("observed", output.completion[:1000])
    said = output.completion[:1000]
    if not said.strip() or output.stop_reason == "content_filter":
        return Canary("inconclusive", said)
    counted = _input_tokens(output) - _input_tokens(await _ask(model, _asked()))
    return Canary("inconclusive" if counted >= _ADDED_TOKENS else "not_observed", said)


async def _rejected(model: Model, told: list[ChatMessage], error: Exception) -> Canary:
    """Tell a rejection from a model that is down: it answers without, and fails again with."""
    try:
        await _ask(model, _asked())
    except Exception as ex:
        cause = ex.__cause__ or ex
        raise ValueError(
            f"the evaluated model {model} cannot be reached: {type(cause).__name__}: {cause}"
        ) from ex
    try:
        output = await _ask(model, told)
    except Exception as ex:
        cause = ex.__cause__ or ex
        return Canary("rejected", f"{type(cause).__name__}: {cause}"[:1000])
    return Canary("observed" if _tells(output) else "inconclusive", output.completion[:1000])


async def _ask(
    model: Model, messages: list[ChatMessage], cache: CachePolicy | Literal[False] = False
) -> ModelOutput:
    config = GenerateConfig(
        temperature=0,
        max_tokens=model.config.max_tokens or _MAX_TOKENS,
        max_retries=2,
        attempt_timeout=120,
    )
    return await model.generate(messages, config=config, cache=cache)


def _asked() -> list[ChatMessage]:
    return [ChatMessageUser(content=_QUESTION)]


def _kept(model: Model) -> CachePolicy:
    arguments = hash_text(repr(sorted(model.model_args.items())))
    return CachePolicy(expiry="1W", per_epoch=False, scopes={"orbench": f"canary {arguments}"})


def _tells(output: ModelOutput) -> bool:
    return _WORD in output.completion.lower()


def _input_tokens(output: ModelOutput) -> int:
    usage = output.usage
    if usage is None:
        return 0
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return usage.input_tokens + cached
