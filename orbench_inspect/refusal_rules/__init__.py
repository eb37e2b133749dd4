"""Whether a text refuses, by rules without a model: `match` is the way in."""

from orbench_inspect.refusal_rules.decision import OWN_LIST, Decision, Match, match, own_list
from orbench_inspect.refusal_rules.normal import normalise

__all__ = ["OWN_LIST", "Decision", "Match", "match", "normalise", "own_list"]
