"""Where what is known of a judge's error comes from: labels by hand, an audit, another data set."""

from orbench_inspect.analysis.calibration.audit import from_audit
from orbench_inspect.analysis.calibration.chosen import calibrated_by
from orbench_inspect.analysis.calibration.labels import from_labels
from orbench_inspect.analysis.calibration.record import Calibrate, Calibration
from orbench_inspect.analysis.calibration.validation import from_validation

__all__ = [
    "Calibrate",
    "Calibration",
    "calibrated_by",
    "from_audit",
    "from_labels",
    "from_validation",
]
