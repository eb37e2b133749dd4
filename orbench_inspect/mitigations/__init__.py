"""Second stop: what is done about refusal, and the solver that does it.

A mitigation is one text file in this folder; a person's own is a path.
"""

from orbench_inspect.mitigations.canary import observe_system
from orbench_inspect.mitigations.catalogue import Mitigation, known_mitigations, load_mitigation
from orbench_inspect.mitigations.composed import Composed, SystemAs, compose
from orbench_inspect.mitigations.solver import mitigation

__all__ = [
    "Composed",
    "Mitigation",
    "SystemAs",
    "compose",
    "known_mitigations",
    "load_mitigation",
    "mitigation",
    "observe_system",
]
