"""Writing a report: the page, its figures and its tables."""

import json
import secrets
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from orbench_inspect.analysis.figures import Figure, figures, save
from orbench_inspect.analysis.figures.theme import PAGE, as_spec
from orbench_inspect.analysis.forms import as_sheet
from orbench_inspect.analysis.overview import Overview
from orbench_inspect.analysis.report.page import page_data
from orbench_inspect.analysis.report.prompts import prompt_data

_HERE = Path(__file__).parent


def write_report(
    found: Overview, folder: Path, responses: bool = True, viewer: str | None = None
) -> Path:
    """Write `index.html`, `figures/` and `tables/`, and `viewer/` if asked for.

    Args:
        found: From `overview`.
        folder: Where to; made if it is not there, and its files of these names replaced.
        responses: Whether to include what models wrote.
        viewer: Log directory to bundle Inspect's viewer for; None for no viewer.

    Returns:
        The page.

    Raises:
        ValueError: If a log has lost samples.
    """
    drawn = list(figures(found))
    for name in ("figures", "tables"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for figure in drawn:
        save(figure, folder / "figures")
    for name, frame in _tables(found).items():
        (folder / "tables" / f"{name}.csv").write_text(as_sheet(frame), encoding="utf-8")
    if viewer is not None:
        from inspect_ai.log import bundle_log_dir

        bundle_log_dir(viewer, str(folder / "viewer"), overwrite=True)
    page = folder / "index.html"
    page.write_text(_page(found, drawn, responses, viewer is not None), encoding="utf-8")
    return page


def _tables(found: Overview) -> dict[str, pd.DataFrame]:
    runs = found.arms.assign(file=found.arms["file"].str.rpartition("/")[2])
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
        **page_data(found),
        figures=drawn,
        tables=_tables(found),
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
