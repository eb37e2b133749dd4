"""The command line, and what importing the package costs."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import orbench_inspect
from orbench_inspect.cli import main


def test_every_public_name_is_there() -> None:
    for name in orbench_inspect.__all__:
        assert getattr(orbench_inspect, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = orbench_inspect.nonsense


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from orbench_inspect.cli import main;"
        "assert CliRunner().invoke(main, ['--help']).exit_code == 0;"
        "print(sorted({'inspect_ai', 'datasets', 'pandas', 'numpy'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_inspect_loads_of_us_is_light() -> None:
    code = (
        "import sys, orbench_inspect._registry;"
        "print(sorted({'datasets', 'pandas', 'xllamacpp', 'openai', 'anthropic', 'scipy', 'ray'}"
        " & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_reading_rates_imports_no_statistics_of_comparisons() -> None:
    code = (
        "import sys, orbench_inspect.analysis.overview;"
        "print(sorted({'scipy.stats', 'statsmodels', 'altair'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_folder_is_checked(or_bench: Path) -> None:
    done = CliRunner().invoke(main, ["check-data", str(or_bench), "hard", "toxic"])
    assert (done.exit_code, done.output) == (0, "hard   ok\ntoxic  ok\n")
    done = CliRunner().invoke(main, ["check-data", str(or_bench)])
    assert done.exit_code == 1
    assert "or-bench-80k.csv not found" in done.output


def test_mitigations_are_listed_and_shown() -> None:
    done = CliRunner().invoke(main, ["mitigations"])
    assert "helpful_first" in done.output
    done = CliRunner().invoke(main, ["mitigations", "show", "self_reminder"])
    assert "Before you read the message below" in done.output
    assert "<prompt>" in done.output
    done = CliRunner().invoke(main, ["mitigations", "show", "helpful"])
    assert done.exit_code == 2
    assert "unknown mitigation 'helpful'; known: " in done.output
