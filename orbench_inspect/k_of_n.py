"""Which of how many, as a person writes it: `3/10`."""

import re


def k_of_n(text: str) -> tuple[int, int] | None:
    """Read the k and the n of `k/n`; None where it is not one of n."""
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        return None
    return int(found[1]), int(found[2])
