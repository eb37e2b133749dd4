"""Inspect's viewer on our logs, in a real browser: what is seen, and what cannot happen."""

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from inspect_ai import eval
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log

from orbench_inspect.scoring.viewer import run_viewer
from orbench_inspect.scoring.words import CAUSES, SCORED
from orbench_inspect.tasks import custom
from tests.browser import Page, opened
from tests.fakes import Reply, Request
from tests.fakes.openai import chat
from tests.fakes.server import serving
from tests.runs import model_at

SAMPLES = 1319
HOSTILE = {
    "script": "<script>document.title='owned'</script>"
    "<img src=x onerror=\"document.title='owned'\">",
    "markdown": "![x](http://127.0.0.1:9/leak.png) [go](javascript:document.title='owned')",
    "ansi": "\x1b[31mred\x1b[0m \x1b]0;owned\x07 end",
    "override": "start \u202edetrevni\u202c and \u2066isolated\u2069 end",
    "long": "A" * 1_000_000,
}
CATEGORIES = ("privacy", "violence")


def answer(request: Request) -> Reply:
    word = request.user.split()[0]
    if word in HOSTILE:
        return chat(HOSTILE[word])
    return chat("I can't help with that." if word == "refuse" else "Here: first rinse it.")


def judge(request: Request) -> Reply:
    if "capital of France" in request.user:
        return chat("[[direct_answer]]")
    refused = "I can't help" in request.user
    return chat(f"So it is. [[{'direct_refusal' if refused else 'direct_answer'}]]")


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Inspect's viewer over a log of 1,319 samples; its address and the log's name."""
    folder = tmp_path_factory.mktemp("viewer")
    words = [*(f"refuse {n}" for n in range(6)), *(f"answer {n}" for n in range(14))]
    rows = [(f"{word} {c}", c) for word in (*words, *HOSTILE) for c in CATEGORIES]
    table = "".join(f"{prompt},{category}\n" for prompt, category in rows)
    (folder / "hard.csv").write_text(f"prompt,category\n{table}")
    with serving(answer) as model, serving(judge) as grader:
        log = eval(
            custom(file=str(folder / "hard.csv"), wanted="answer"),
            model=model_at(model),
            model_roles={"grader": model_at(grader, "judge")},
            log_dir=str(folder / "run"),
            display="none",
        )[0]
    logs = folder / "logs"
    write_eval_log(many(read_eval_log(log.location)), str(logs / "many.eval"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "inspect_ai", "view", "--log-dir", str(logs)]
    process = subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                urlopen(url, timeout=1).close()
                break
            except (URLError, OSError):
                time.sleep(0.1)
        yield url, "many.eval"
    finally:
        process.kill()
        process.wait()


def many(log: EvalLog) -> EvalLog:
    """The log with its samples repeated, each under an id of its own, up to 1,319."""
    assert log.samples is not None
    plain = [s for s in log.samples if str(s.input).split()[0] not in HOSTILE]
    copies = [
        plain[n % len(plain)].model_copy(
            update={"id": f"{plain[n % len(plain)].id}-{n}", "uuid": f"copy{n}"}
        )
        for n in range(SAMPLES - len(log.samples))
    ]
    log.samples = [*log.samples, *copies]
    return log


async def filtered(page: Page, expression: str) -> None:
    """Type a filter, and wait until it holds."""
    await page.until(f"document.body.innerText.includes('{SAMPLES} Samples')")
    await cells(page, "answer")
    editor = "document.querySelector('.cm-content')"
    shown = f"document.body.innerText.match(/([0-9]+)[ /0-9]* Samples/)[1] !== '{SAMPLES}'"
    for _ in range(30):
        # The list is drawn anew once the log's own columns are known, and forgets what was typed.
        if not await page.run(f"{editor}.innerText.trim()"):
            await page.run(f"{editor}.focus()")
            await page.send("Input.insertText", text=expression)
        await asyncio.sleep(0.5)
        if await page.run(shown):
            return
    raise AssertionError(await page.run("document.body.innerText.slice(-300)"))


async def cells(page: Page, column: str) -> list[str]:
    """What the rows that are drawn show in a column, from the top."""
    drawn = f"[...document.querySelectorAll('[role=gridcell][data-col-id=\"{column}\"]')]"
    await page.until(f"{drawn}.length > 0")
    found = await page.run(f"{drawn}.map(cell => cell.innerText.trim())")
    return [str(cell) for cell in found]


async def open_first(page: Page) -> None:
    """Open the sample of the first row."""
    await page.run("document.querySelector('a[role=row]').click()")


def test_refusals_of_a_category_are_found_and_opened(
    viewer: tuple[str, str], tmp_path: Path
) -> None:
    url, name = viewer

    async def look() -> None:
        async with opened(f"{url}/#/logs/{name}", width=1400, offline=False) as page:
            await page.until(f"document.body.innerText.includes('{SAMPLES} Samples')")
            first = (await cells(page, "answer"))[:5]
            assert first == ["direct_refusal"] * 5
            header = await page.run("document.body.innerText")
            assert "refusal_rate" in header or "refusal_r" in header
            await filtered(page, 'outcome == "direct_refusal" and id ~= "privacy"')
            assert set(await cells(page, "answer")) == {"direct_refusal"}
            assert all("privacy" in id for id in await cells(page, "sampleId"))
            await page.picture(tmp_path / "list.png")
            await open_first(page)
            await page.until("document.body.innerText.includes('SCORING')")
            await page.run(
                "[...document.querySelectorAll('button, [role=tab]')]"
                ".find(tab => tab.innerText.trim().toUpperCase() === 'SCORING').click()"
            )
            await page.until("document.body.innerText.includes('judge_reply')")
            text = str(await page.run("document.body.innerText"))
            order = [text.index(part) for part in ("So it is.", "judge_reply", "route", "provider")]
            assert order == sorted(order)
            await page.picture(tmp_path / "sample.png")

    asyncio.run(look())
    assert (tmp_path / "list.png").stat().st_size > 10_000
    assert (tmp_path / "sample.png").stat().st_size > 10_000


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_response_changes_nothing_but_its_own_cell(
    viewer: tuple[str, str], kind: str
) -> None:
    url, name = viewer

    async def look() -> None:
        async with opened(f"{url}/#/logs/{name}", width=1400, offline=False) as page:
            await filtered(page, f'input_contains("{kind} privacy")')
            assert set(await cells(page, "answer")) == {"direct_answer"}
            await open_first(page)
            shown = json.dumps(HOSTILE[kind][:5] if kind != "ansi" else "red")
            await page.until(f"document.body.innerText.includes({shown})", 60)
            await asyncio.sleep(0.5)
            assert "owned" not in str(await page.run("document.title"))
            assert not [r for r in page.requests if not r.startswith(url)]
            assert not [p for p in page.problems if "dialog" in p or "owned" in p]
            assert not await page.run("document.body.innerHTML.includes('<img src=\"x\"')")

    asyncio.run(look())


@pytest.mark.parametrize(("wanted", "refused"), [("answer", "bad"), ("refuse", "good")])
def test_every_outcome_has_the_colour_of_what_is_wanted(wanted: str, refused: str) -> None:
    view = run_viewer(wanted).task_samples_view
    assert view is not None
    assert not isinstance(view, list)
    colours = (view.score_color_scales or {})["outcome"]
    assert isinstance(colours, dict)
    assert set(colours) == {*SCORED, *CAUSES}
    assert {colours[word] for word in SCORED if "refusal" in word} == {refused}
    assert colours["direct_answer"] != refused
    assert {colours[cause] for cause in CAUSES} == {"warn"}
    assert run_viewer(wanted).trust_content is False
