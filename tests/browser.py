"""A real browser without a head, driven over its DevTools protocol."""

import asyncio
import base64
import itertools
import json
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-quic"),
    "--remote-debugging-port=0",
)


class Moved(Exception):
    """The page was left for another one before it answered."""


class Page:
    """A page, what it told the console, and what it asked the network for."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.problems: list[str] = []
        """Errors and warnings of the console, uncaught exceptions, and dialogs."""
        self.requests: list[str] = []
        """URLs that were asked for, as far as they are not in the page itself."""

    async def listen(self) -> None:
        async for message in self._socket:
            told = json.loads(message.data)
            if "id" in told:
                self._waiting.pop(told["id"]).set_result(told)
            else:
                self._note(told["method"], told["params"])

    def _note(self, event: str, told: dict[str, Any]) -> None:
        match event:
            case "Runtime.exceptionThrown":
                self.problems.append(str(told["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning"):
                self.problems.append(str(told["args"]))
            case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                self.problems.append(str(told["entry"]))
            case "Page.javascriptDialogOpening":
                self.problems.append(f"dialog: {told['message']}")
            case "Network.requestWillBeSent":
                url = told["request"]["url"]
                if not url.startswith(("data:", "blob:")):
                    self.requests.append(url)

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command, and return its result."""
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": params})
        answer = await asyncio.wait_for(self._waiting[number], 60)
        if answer.get("error", {}).get("message") == "Inspected target navigated or closed":
            raise Moved(method)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    async def run(self, script: str) -> Any:
        """The value of an expression, awaited if it is a promise."""
        done = await self.send(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    async def until(self, script: str, seconds: float = 30) -> None:
        """Wait until an expression is true; one that throws, or on a page left, is not yet."""
        tried = f"(() => {{ try {{ return Boolean({script}) }} catch {{ return false }} }})()"
        for _ in range(int(seconds * 20)):
            with suppress(Moved):
                if await self.run(tried):
                    return
            await asyncio.sleep(0.05)
        raise AssertionError(f"not within {seconds} s: {script}")

    async def press(self, key: str, code: int = 0, text: str = "") -> None:
        """Press and release a key, such as Tab (9), Enter (13, "\\r") or a letter."""
        shared = {"key": key, "windowsVirtualKeyCode": code}
        await self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **shared)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **shared)

    async def picture(self, path: Path) -> None:
        """Write what the window shows as a PNG."""
        shot = await self.send("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))


@asynccontextmanager
async def opened(
    url: str, width: int = 1280, height: int = 900, dark: bool = False, offline: bool = True
) -> AsyncIterator[Page]:
    """Open a page in a browser of its own; skips the test where there is no browser.

    Args:
        url: Where to go.
        width: Of the window, in pixels.
        height: Of the window, in pixels.
        dark: Whether the reader prefers dark pages.
        offline: Whether the network is off.
    """
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(_NAMES)} is installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [program, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            port = await _port(Path(profile) / "DevToolsActivePort")
            async with aiohttp.ClientSession() as session:
                tabs = await (await session.get(f"http://127.0.0.1:{port}/json")).json()
                tab = next(t for t in tabs if t["type"] == "page")
                async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as ws:
                    page = Page(ws)
                    listening = asyncio.create_task(page.listen())
                    await _set_up(page, width, height, dark, offline)
                    await page.send("Page.navigate", url=url)
                    yield page
                    listening.cancel()
        finally:
            process.kill()
            process.wait()


async def _set_up(page: Page, width: int, height: int, dark: bool, offline: bool) -> None:
    for domain in ("Page", "Runtime", "Log", "Network"):
        await page.send(f"{domain}.enable")
    await page.send(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=height,
        deviceScaleFactor=1,
        mobile=width < 600,
    )
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    await page.send("Emulation.setEmulatedMedia", features=[scheme])
    if offline:
        await page.send(
            "Network.emulateNetworkConditions",
            offline=True,
            latency=0,
            downloadThroughput=-1,
            uploadThroughput=-1,
        )


async def _port(file: Path) -> str:
    for _ in range(600):
        if file.exists() and (text := file.read_text(encoding="utf-8")):
            return text.split()[0]
        await asyncio.sleep(0.05)
    raise AssertionError("the browser did not start within 30 s")
