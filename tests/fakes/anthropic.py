"""Anthropic's messages, as bodies of replies."""

from typing import Any

from tests.fakes.server import Reply


def message(text: str, stop: str = "end_turn", details: dict[str, Any] | None = None) -> Reply:
    """A message."""
    return Reply(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-4-8",
            "content": [{"type": "text", "text": text}] if text else [],
            "stop_reason": stop,
            "stop_sequence": None,
            "stop_details": details,
            "usage": {"input_tokens": 10, "output_tokens": len(text.split())},
        }
    )


def filtered() -> Reply:
    """The error that stands in for an output which the filter stopped."""
    text = "Output blocked by content filtering policy"
    return Reply(
        {"type": "error", "error": {"type": "invalid_request_error", "message": text}}, 400
    )
