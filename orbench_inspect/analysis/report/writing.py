"""Writing a report: the page, its figures and its tables."""

import json
import secrets
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from orbench_inspect.analysis.figures import NAMES, Figure, figures, save
from orbench_inspect.analysis.figures.theme import PAGE, as_spec
from orbench_inspect.analysis.forms import as_sheet
from orbench_inspect.analysis.overview import Overview
from orbench_inspect.analysis.report.page import page_data
from orbench_inspect.analysis.report.prompts import prompt_data
from orbench_inspect.analysis.report.record import without_quotes

_HERE = Path(__file__).parent
_TABLES = ("rates", "categories", "outcomes", "runs", "differences", "answers")


def write_report(
    found: Overview, folder: Path, responses: bool = True, viewer: str | None = None
) -> Path:
    """Write `index.html`, `figures/` and `tables/`, and `viewer/` if asked for.

    What an earlier report left under these names is removed, and nothing else: a folder that is
    shared without responses must not hold those of the report before.

    Args:
        found: From `overview`.
        folder: Where to; made if it is not there.
        responses: Whether to include what models wrote.
        viewer: Log directory to bundle Inspect's viewer for; None for no viewer.

    Returns:
        The page.

    Raises:
        ValueError: If a log has lost samples.
    """
    drawn = list(figures(found))
    _remove_earlier(folder)
    for name in ("figures", "tables"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for figure in drawn:
        save(figure, folder / "figures")
    for name, frame in _tables(found, responses).items():
        (folder / "tables" / f"{name}.csv").write_text(as_sheet(frame), encoding="utf-8")
    if viewer is not None:
        from inspect_ai.log import bundle_log_dir

        bundle_log_dir(viewer, str(folder / "viewer"), overwrite=True)
    page = folder / "index.html"
    page.write_text(_page(found, drawn, responses, viewer is not None), encoding="utf-8")
    return page


def _remove_earlier(folder: Path) -> None:
    for name in NAMES:
        for kind in ("svg", "png"):
            (folder / "figures" / f"{name}.{kind}").unlink(missing_ok=True)
    for name in _TABLES:
        (folder / "tables" / f"{name}.csv").unlink(missing_ok=True)
    viewer = folder / "viewer"
    # What Inspect bundles, and no other folder of that name.
    if (viewer / "logs" / "listing.json").is_file() and not viewer.is_symlink():
        shutil.rmtree(viewer)


def _tables(found: Overview, responses: bool) -> dict[str, pd.DataFrame]:
    runs = found.arms.assign(file=found.arms["file"].str.rpartition("/")[2])
    if not responses and "warnings" in runs:
        runs["warnings"] = [[without_quotes(w) for w in told] for told in runs["warnings"]]
    tables = {
        "rates": found.rates,
        "categories": found.categories,
        "outcomes": found.outcomes,
        "runs": runs.drop(columns=["population", "source"]),
    }
    if found.comparison:
        tables["differences"] = found.comparison.differences
        tables["answers"] = found.comparison.answers
    return tables


def _page(found: Overview, drawn: list[Figure], responses: bool, viewer: bool) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    prompts = prompt_data(found, responses)
    return environment.get_template("template.html.jinja").render(
        **page_data(found, responses),
        figures=drawn,
        tables=_tables(found, responses),
        prompts=prompts,
        responses=responses,
        viewer=viewer,
        nonce=secrets.token_urlsafe(16),
        style=(_HERE / "style.css").read_text(encoding="utf-8"),
        script=_harmless(_vega() + (_HERE / "page.js").read_text(encoding="utf-8")),
        specs=_as_json({figure.name: as_spec(figure.chart, PAGE) for figure in drawn}),
        settings=_as_json({"baseline": found.baseline, "viewer": viewer, "responses": responses}),
    )


def _as_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _harmless(script: str) -> str:
    """Our own script, whose strings must not end its element either."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


@cache
def _vega() -> str:
    """Vega with its embedding, as one script that defines `vegaEmbed`."""
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")) + "\n"
