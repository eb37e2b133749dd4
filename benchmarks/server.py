"""A server that speaks OpenAI's chat completions, with a given latency and hardly any cost.

The one in tests/fakes has a thread for each connection, which would take the processor from what
is measured.
"""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from tests.fakes.openai import chat

ANSWER = "Sure: rinse the pan, scrub it with salt, and dry it near a window. " * 16
VERDICT = "A plain answer. [[direct_answer]]"
_REPLIES = {
    asked: json.dumps(chat(text).body).encode()
    for asked, text in (("model", ANSWER), ("judge", VERDICT))
}


@contextmanager
def serving(latency: float) -> Iterator[tuple[dict[str, str], Counter[str]]]:
    """Serve until the block ends.

    Args:
        latency: Seconds that each call takes.

    Yields:
        The variables under which it is the provider `fake`, and how often each role was asked.
    """
    asked: Counter[str] = Counter()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                body = await reader.readexactly(length)
                role = "judge" if b"ENDS -----" in body else "model"
                asked[role] += 1
                await asyncio.sleep(latency)
                said = _REPLIES[role]
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    b"Content-Length: %d\r\n\r\n%s" % (len(said), said)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):  # the client has gone
            writer.close()

    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(answer, "127.0.0.1", 0, backlog=500))
    port = server.sockets[0].getsockname()[1]
    threading.Thread(target=loop.run_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{port}/v1"
        yield {"FAKE_API_KEY": "none", "FAKE_BASE_URL": url}, asked
    finally:
        loop.call_soon_threadsafe(loop.stop)
