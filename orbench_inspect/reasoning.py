"""Reasoning that a model wrote into its visible text."""

import re

_THINK = r"(?:think|thinking|thoughts?|reasoning|seed:think)"
# A tag in backticks is talked about, not used.
_THINK_TAG = re.compile(
    rf"(?<!`)(?:<(/?){_THINK}(?:\s+[\w-]+=[^<>]{{0,200}})?\s*>|\[(/?)THINK\]|◁(/?)think▷)",
    re.IGNORECASE,
)
_FINAL_CHANNEL = re.compile(r"\A.*<\|channel\|>\s*final\s*<\|message\|>", re.DOTALL)
_OTHER_CHANNEL = re.compile(r"\s*(?:<\|start\|>assistant)?<\|channel\|>\s*(?:analysis|commentary)")


def strip_reasoning(text: str) -> str:
    """Remove reasoning that a model wrote between think tags into its visible text.

    Where only the end of a block is there (some chat templates open it in the prompt),
    all that stands before it is reasoning; a block that is never closed goes to the end.
    """
    if _FINAL_CHANNEL.match(text):
        text = _FINAL_CHANNEL.sub("", text)
    elif _OTHER_CHANNEL.match(text):
        return ""
    kept: list[str] = []
    position = 0
    begun: int | None = None
    for tag in _THINK_TAG.finditer(text):
        if not any(tag.groups()):
            begun = tag.start() if begun is None else begun
            continue
        if begun is None:
            kept.clear()
        else:
            kept.append(text[position:begun])
        position, begun = tag.end(), None
    kept.append(text[position:begun])
    return "".join(kept)
