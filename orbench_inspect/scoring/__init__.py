"""Third stop: what became of each prompt. Scorers, metrics and the check before a run."""

from orbench_inspect.scoring.matcher import matcher
from orbench_inspect.scoring.outcome import outcome
from orbench_inspect.scoring.preflight import Preflight
from orbench_inspect.scoring.refusal import refusal

__all__ = ["Preflight", "matcher", "outcome", "refusal"]
