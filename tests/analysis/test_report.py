"""The page: it opens from disk, shows untrusted text as text, and can be used."""

import asyncio
import base64
import csv
import gzip
import json
import re
from collections.abc import Awaitable, Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner
from inspect_ai import eval

from orbench_inspect.analysis import read_runs
from orbench_inspect.analysis.overview import overview
from orbench_inspect.analysis.report import prompts
from orbench_inspect.analysis.report.record import without_quotes
from orbench_inspect.cli import main
from orbench_inspect.tasks import custom
from tests.browser import Page, opened
from tests.fakes import Reply, Request
from tests.fakes.openai import chat
from tests.fakes.server import serving
from tests.runs import model_at

SORRY = "I'm sorry, but I can't help with that."
HOSTILE = {
    "tag": "<script>window.ran = 1</script><img src=x onerror='window.ran = 2'>",
    "end": "</script><script>window.ran = 3</script><!-- <script>",
    "picture": "![x](https://example.com/x.png) [link](javascript:window.ran=4) {{7*7}}",
    "ansi": "\x1b[31mred\x1b[0m and \x07 bell",
    "direction": "abc \u202egnp.exe\u202c def",
    "hebrew": "\u05e9\u05dc\u05d5\u05dd\u200f 1\r\n2",
    "long": "word " * 200_000,
}
PLAIN = {f"how do I clean pan {n}": f"Rinse it {n} times with zebra water." for n in range(60)}
UNSAFE = {f"harmful {n}": SORRY for n in range(12)}


def command(*arguments: str) -> str:
    done = CliRunner().invoke(main, ["report", *arguments])
    assert done.exit_code == 0, done.output
    return done.output.strip()


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two arms on harmless and harmful prompts; some flip, some responses are hostile."""
    folder = tmp_path_factory.mktemp("report")

    def answer(request: Request) -> Reply:
        asked = request.user
        if asked == "What is the word of the day?":
            return chat("It is pelican.")
        placebo = request.texts[0][0] == "system"
        if not placebo and asked in list(PLAIN)[:5]:
            return chat(SORRY)
        return chat({**HOSTILE, **PLAIN, **UNSAFE}[asked])

    sides = {"safe": ({**HOSTILE, **PLAIN}, "answer"), "unsafe": (UNSAFE, "refuse")}
    for side, (asked, _) in sides.items():
        with (folder / f"{side}.csv").open("w", encoding="utf-8", newline="") as file:
            rows = [[p, ("<b>bold", "calm" * 15, "'\"&")[n % 3]] for n, p in enumerate(asked)]
            csv.writer(file).writerows([["prompt", "category"], *rows])
    with serving(answer) as server:
        eval(
            [
                custom(
                    file=str(folder / f"{side}.csv"),
                    wanted=wanted,
                    scorer="matcher",
                    mitigation=mitigation,
                )
                for mitigation in ("none", "placebo")
                for side, (_, wanted) in sides.items()
            ],
            model=model_at(server, "some<i>model"),
            log_dir=str(folder / "logs"),
            log_realtime=False,
            display="none",
        )
    return folder / "logs"


@pytest.fixture(scope="module")
def report(logs: Path) -> Path:
    return Path(command(str(logs), "-o", str(logs.parent / "out")))


def look(page: Path | str, scenario: Callable[[Page], Awaitable[None]], **window: Any) -> None:
    """Open a page, wait until all is drawn, and do something with it."""

    async def act() -> None:
        url = page if isinstance(page, str) else page.as_uri()
        async with opened(url, **window) as there:
            await there.until("document.documentElement.dataset.ready === 'all'")
            await scenario(there)
            assert there.problems == []
            assert there.requests == [url]

    asyncio.run(act())


def packed(page: Path) -> Any:
    """The table of prompts that a page holds."""
    found = re.search(r'id="packed">([^<]+)<', page.read_text(encoding="utf-8"))
    assert found is not None
    return unpacked(found[1])


def unpacked(table: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(table)))


@pytest.mark.parametrize("window", [{}, {"dark": True}, {"width": 390}], ids=str)
def test_it_opens_from_disk_without_network_or_complaint(
    report: Path, window: dict[str, Any]
) -> None:
    async def scenario(page: Page) -> None:
        assert await page.run("document.querySelectorAll('.chart svg').length") >= 4
        # Nothing but tables and figures, which scroll in themselves, is wider than the window.
        # A phone's window grows with what is in it.
        assert await page.run("document.documentElement.scrollWidth") <= window.get("width", 1280)

    look(report, scenario, **window)


def test_hostile_text_changes_nothing_but_its_own_cell(report: Path) -> None:
    async def scenario(page: Page) -> None:
        await page.run("document.getElementById('right').value = 'none'")
        said = {}
        for name in HOSTILE:
            await page.run(f"search.value = '{name}'; filters.requestSubmit()")
            await page.run("[...document.querySelectorAll('#list button')].forEach(b => b.click())")
            found = await page.run(
                "[...document.querySelectorAll('#list > li')]"
                f".filter(li => li.querySelector('.asked').textContent === '{name}')"
                ".map(li => [...li.querySelectorAll('.said')].map(p => p.textContent))[0]"
            )
            said[name] = found[0]
        for name in ("tag", "end", "picture"):
            assert said[name] == HOSTILE[name]
        assert said["ansi"] == "⟨U+001B⟩[31mred⟨U+001B⟩[0m and ⟨U+0007⟩ bell"
        assert said["direction"] == "abc ⟨U+202E⟩gnp.exe⟨U+202C⟩ def"
        assert said["hebrew"] == "\u05e9\u05dc\u05d5\u05dd\u200f 1\n2"
        assert len(said["long"]) < 5_000
        assert await page.run("typeof window.ran") == "undefined"
        assert await page.run(
            "document.querySelectorAll('main img, main script, main i').length"
        ) == (await page.run("document.querySelectorAll('.bar i').length"))
        assert await page.run("document.querySelector('h1').textContent.includes('some<i>model')")

    look(report, scenario)
    # The response of 1 MB is cut, and is nowhere whole.
    assert "Responses are cut at 4,000 characters" in report.read_text(encoding="utf-8")
    assert report.stat().st_size < 2_500_000


def test_filters_and_search_find_prompts(report: Path) -> None:
    async def scenario(page: Page) -> None:
        async def count() -> str:
            return str(await page.run("document.getElementById('count').textContent"))

        async def choose(name: str, value: object) -> None:
            script = f"{name}.{'checked' if name == 'flipped' else 'value'} = {json.dumps(value)};"
            await page.run(script + f"{name}.dispatchEvent(new Event('change', {{bubbles: true}}))")

        assert await count() == "79 of 79 prompts"
        assert await page.run("document.querySelectorAll('#list > li').length") == 50
        await page.run("next.click()")
        assert await page.run("document.querySelectorAll('#list > li').length") == 29
        await choose("flipped", True)
        assert await count() == "5 of 79 prompts"
        await page.run("document.querySelector('#list button').click()")
        # To leave the search field, for a click on what was found, leaves the list as it is.
        await page.run("search.dispatchEvent(new Event('change', {bubbles: true}))")
        both = await page.run("[...document.querySelectorAll('.said')].map(p => p.textContent)")
        assert both[0] == SORRY
        assert "zebra" in both[1]
        await choose("flipped", False)
        await choose("set", "custom_unsafe")
        assert await count() == "12 of 79 prompts"
        await choose("set", "")
        await choose("category", "<b>bold")
        assert await count() == "27 of 79 prompts"
        await choose("category", "")
        await choose("outcome", "refused")
        assert await count() == "17 of 79 prompts"
        await choose("outcome", "")
        # 55 of the others' responses hold the word, and all 60 under the other arm.
        await page.run("search.value = 'ZEBRA'; filters.requestSubmit()")
        assert await count() == "60 of 79 prompts"
        await page.run("search.value = 'nowhere to be found'; filters.requestSubmit()")
        assert await count() == "0 of 79 prompts"

    look(report, scenario)


def test_it_can_be_used_by_keyboard_alone(report: Path) -> None:
    async def scenario(page: Page) -> None:
        async def focused(script: str) -> Any:
            return await page.run(f"document.activeElement.{script}")

        for _ in range(60):
            await page.press("Tab", 9)
            if await focused("id") == "search":
                break
        assert await focused("id") == "search"
        for letter in "pan 7":
            await page.press(letter, text=letter)
        await page.until("document.getElementById('count').textContent === '1 of 79 prompts'")
        for _ in range(12):
            await page.press("Tab", 9)
            if await focused("className") == "row":
                break
        await page.press("Enter", 13, "\r")
        assert await focused("ariaExpanded") == "true"
        assert await page.run("document.querySelectorAll('.said').length") == 2
        assert await page.run("getComputedStyle(document.activeElement).outlineStyle") != "none"

    look(report, scenario)


def test_files_hold_what_the_page_shows(report: Path) -> None:
    folder = report.parent
    for name in ("tradeoff", "differences", "outcomes", "categories", "radar"):
        assert "<svg" in (folder / f"figures/{name}.svg").read_text()
        assert (folder / f"figures/{name}.png").read_bytes().startswith(b"\x89PNG")
    with (folder / "tables/rates.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    text = report.read_text(encoding="utf-8")
    for row in rows:
        if row["reading"] == "deployed":
            assert f'<span class="num">{100 * float(row["rate"]):.1f}</span>' in text
    # Of scripts and specs, that nothing is asked for is seen in the browser.
    markup = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"(src|href)=.?(https?:)?//", markup)


def test_without_responses_the_page_holds_none(logs: Path, tmp_path: Path) -> None:
    earlier = ("viewer/logs/listing.json", "figures/judge_matcher.svg", "tables/answers.csv")
    others = ("figures/mine.svg", "tables/mine.csv")
    for name in (*earlier, *others):
        (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / name).write_text("before", encoding="utf-8")
    page = Path(command(str(logs), "-o", str(tmp_path / "out"), "--no-responses"))
    # What a report before left goes, and nothing that is not ours.
    left = {name for name in (*earlier, *others) if (page.parent / name).exists()}
    assert left == {"tables/answers.csv", *others}
    assert (page.parent / "tables/answers.csv").read_text(encoding="utf-8") != "before"
    table = packed(page)
    assert len(table["prompts"]) == 79
    assert table["said"] == []
    assert "zebra" not in json.dumps(table)
    everything = [p.read_bytes() for p in page.parent.rglob("*") if p.is_file()]
    assert not any(b"zebra" in content for content in everything)

    async def scenario(page: Page) -> None:
        await page.run("document.querySelector('#list button').click()")
        assert await page.run("document.querySelectorAll('.cell').length") == 2
        assert await page.run("document.querySelectorAll('.said').length") == 0

    look(page, scenario)


def test_one_arm_alone_is_told_without_comparison(logs: Path, tmp_path: Path) -> None:
    one = next(
        file for file in sorted(logs.glob("*.eval")) if b"placebo" not in _header(file).encode()
    )
    page = Path(command(str(one), "-o", str(tmp_path / "out")))
    text = page.read_text(encoding="utf-8")
    assert "What was refused" in text
    assert "points from" not in text

    async def scenario(page: Page) -> None:
        assert await page.run("document.querySelectorAll('.chart svg').length") >= 2

    look(page, scenario)


@pytest.mark.slow
def test_a_response_leads_to_its_sample_in_the_viewer(logs: Path, tmp_path: Path) -> None:
    page = Path(command(str(logs), "-o", str(tmp_path / "out"), "--with-viewer"))
    folder = partial(SimpleHTTPRequestHandler, directory=str(page.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), folder) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"

        async def act() -> None:
            async with opened(f"{url}/index.html", offline=False) as there:
                await there.until("document.documentElement.dataset.ready === 'all'")
                await there.run("search.value = 'pan 7'; filters.requestSubmit()")
                await there.run("document.querySelector('#list button').click()")
                await there.run("document.querySelector('.cell a').click()")
                await there.until(
                    "location.pathname.startsWith('/viewer/')"
                    " && document.body.innerText.includes('Rinse it 7 times')",
                    40,
                )
                assert all(asked.startswith(url) for asked in there.requests)

        asyncio.run(act())
        server.shutdown()


def _header(file: Path) -> str:
    from inspect_ai.log import read_eval_log

    return read_eval_log(str(file), header_only=True).model_dump_json()


def test_responses_are_cut_where_the_page_would_be_too_large(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompts, "_MOST_PACKED", 0)
    data = prompts.prompt_data(overview(read_runs(str(logs))), responses=True)
    assert data["length"] == 250
    table = unpacked(data["packed"])
    assert max(map(len, table["said"])) <= 250
    cells = [cell for prompt in table["prompts"] for cell in prompt[4]]
    # A cell says how much of its response was left out.
    assert {cell[7] for cell in cells if cell[7]} == {len(HOSTILE["long"]) - 250}


def test_without_responses_notes_quote_nobody() -> None:
    assert without_quotes("a.eval: status error: ValueError('the model said zebra\n')") == (
        "a.eval: status error"
    )
    replied = "system text could not be told: it was asked for a word, and replied 'zebra'"
    assert without_quotes(replied) == "system text could not be told: it was asked for a word"
    assert without_quotes("a.eval: 5 of 6 samples") == "a.eval: 5 of 6 samples"


def test_what_is_cut_says_so() -> None:
    assert prompts._cut("abc", 3) == "abc"
    assert prompts._cut("abc" * 1_000, 4) == "abca… (2,996 more characters)"


def test_flipped_prompts_are_kept_where_not_all_fit(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompts, "MOST_SAMPLES", 11)
    data = prompts.prompt_data(overview(read_runs(str(logs))), responses=True)
    assert (data["shown"], data["all"]) == (5, 79)
    kept = unpacked(data["packed"])["prompts"]
    assert {prompt[3] for prompt in kept} == set(list(PLAIN)[:5])


def test_what_cannot_be_reported_is_said(logs: Path, tmp_path: Path) -> None:
    def error(*arguments: str) -> str:
        done = CliRunner().invoke(main, ["report", *arguments])
        assert done.exit_code == 2
        return done.output

    assert "no run of orbench_inspect in" in error(str(tmp_path))
    assert "no arm 'other' to compare with" in error(str(logs), "--baseline", "other")
    assert "leave out --no-responses" in error(str(logs), "--with-viewer", "--no-responses")
    assert "outside of the log directory" in error(
        str(logs), "--with-viewer", "-o", str(logs / "out")
    )
