"""The report: one page that opens from disk, and its figures and tables as files."""

from orbench_inspect.analysis.report.writing import write_report

__all__ = ["write_report"]
