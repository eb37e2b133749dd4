"""OpenAI's chat completions and responses, as bodies of replies."""

from typing import Any

from tests.fakes.server import Reply


def chat(
    text: str | None,
    *,
    finish: str = "stop",
    refusal: str | None = None,
    reasoning: str | None = None,
    output_tokens: int | None = None,
    reasoning_tokens: int = 0,
    delay: float = 0,
    **choice: Any,
) -> Reply:
    """A chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": refusal}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    tokens = len((text or refusal or "").split()) if output_tokens is None else output_tokens
    return Reply(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "fake",
            "choices": [{"index": 0, "message": message, "finish_reason": finish, **choice}],
            "usage": {
                "prompt_tokens": 10,
                "completion_tokens": tokens,
                "total_tokens": 10 + tokens,
                "completion_tokens_details": {"reasoning_tokens": reasoning_tokens},
            },
        },
        delay=delay,
    )


def responses_refusal(text: str) -> Reply:
    """A refusal of the Responses API."""
    return _responses([{"type": "refusal", "refusal": text}], "completed", None)


def responses_filtered(text: str = "") -> Reply:
    """A response of the Responses API that its content filter cut off."""
    content = [{"type": "output_text", "text": text, "annotations": []}] if text else []
    return _responses(content, "incomplete", {"reason": "content_filter"})


def _responses(content: list[dict[str, Any]], status: str, incomplete: Any) -> Reply:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": content,
    }
    return Reply(
        {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": "gpt-5-mini",
            "status": status,
            "incomplete_details": incomplete,
            "error": None,
            "output": [message] if content else [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 10,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 5 if content else 0,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 15,
            },
        }
    )
