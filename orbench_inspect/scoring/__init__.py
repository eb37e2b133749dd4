"""Third stop: what became of each prompt. The scorers."""

from orbench_inspect.scoring.matcher import matcher
from orbench_inspect.scoring.outcome import outcome
from orbench_inspect.scoring.refusal import refusal

__all__ = ["matcher", "outcome", "refusal"]
