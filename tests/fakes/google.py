"""Google's generateContent, as bodies of replies."""

from typing import Any

from tests.fakes.server import Reply

_USAGE = {"promptTokenCount": 10, "totalTokenCount": 10}


def candidate(text: str, finish: str = "STOP", **more: Any) -> Reply:
    """A candidate with text, or without."""
    tokens = len(text.split())
    usage = {**_USAGE, "candidatesTokenCount": tokens, "totalTokenCount": 10 + tokens}
    content = {"content": {"role": "model", "parts": [{"text": text}]}} if text else {}
    body = {"candidates": [{"index": 0, "finishReason": finish, **content, **more}]}
    return Reply({**body, "usageMetadata": usage})


def prompt_blocked(reason: str) -> Reply:
    """No candidates: the prompt was blocked."""
    return Reply({"promptFeedback": {"blockReason": reason}, "usageMetadata": _USAGE})


def nothing() -> Reply:
    """Neither candidates nor feedback."""
    return Reply({"usageMetadata": _USAGE})
