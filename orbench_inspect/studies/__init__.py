"""Many arms over the same prompts: studies, each one Inspect eval set."""

from orbench_inspect.studies.sharded import run_full
from orbench_inspect.studies.study import NOISE_FLOOR, SIX_ARMS, Arm, run_study, told_of

__all__ = ["NOISE_FLOOR", "SIX_ARMS", "Arm", "run_full", "run_study", "told_of"]
