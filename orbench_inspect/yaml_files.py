"""Settings that people write in YAML: read, and what is wrong in them told."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from orbench_inspect.text_files import read_text


def read_yaml(path: Path, kind: str, form: str) -> dict[str, Any]:
    """Read a file of names and values, in YAML or JSON.

    Args:
        path: The file.
        kind: What the file is called in error messages, such as "configuration".
        form: What it must hold, for the message where it is no mapping.

    Raises:
        ValueError: If the file cannot be read, or is no mapping.
    """
    try:
        given = yaml.safe_load(read_text(path, kind))
    except yaml.YAMLError as ex:
        raise ValueError(f"{path}: not YAML or JSON ({ex})") from ex
    if not isinstance(given, dict):
        raise ValueError(f"{path}: must {form}")
    return given


def wrong_fields(ex: ValidationError, whole: str) -> list[str]:
    """Each field that is wrong, and why.

    Args:
        ex: What pydantic found.
        whole: What to name where it is no field by itself.
    """
    return [
        f"{'.'.join(map(str, error['loc'])) or whole}: {error['msg'].removeprefix('Value error, ')}"
        for error in ex.errors()
    ]
