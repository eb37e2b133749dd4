"""Right of the log: runs read into frames, rates, paired comparisons. No model is called."""

from orbench_inspect.analysis.comparison import Comparison, compare
from orbench_inspect.analysis.runs import Runs, read_runs

__all__ = ["Comparison", "Runs", "compare", "read_runs"]
