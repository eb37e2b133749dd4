"""Showing outside text to a model as data: between delimiters that it cannot contain."""

from hashlib import sha256


def as_data(**texts: str) -> str:
    """Lay texts before a model, each between delimiters with its name.

    The delimiter is drawn from a hash of all texts: none can contain it by chance or by
    design, and the same texts are shown in the same words on every run.

    Args:
        **texts: Texts by name; the name is shown in capitals.
    """
    code = sha256("\0".join(texts.values()).encode()).hexdigest()[:16]
    blocks = []
    for name, text in texts.items():
        title = f"{name.upper()} {code}"
        blocks.append(f"----- {title} BEGINS -----\n{text}\n----- {title} ENDS -----")
    return "\n\n".join(blocks)
