"""A scripted HTTP server: every request is kept, and a function answers it."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """A request to a model, whatever its wire format."""

    path: str
    body: dict[str, Any]

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Role and text of each message of a chat-completions request."""
        return [(m["role"], m["content"]) for m in self.body["messages"]]

    @property
    def is_judge(self) -> bool:
        """Whether this is a question to the judge: it lays out data between delimiters."""
        return "RESPONSE" in self.user and "ENDS -----" in self.user

    @property
    def user(self) -> str:
        """Text of the first user message of a chat-completions request."""
        return next((text for role, text in self.texts if role == "user"), "")


@dataclass(frozen=True)
class Reply:
    """A response: its JSON body, status, and the seconds it takes."""

    body: dict[str, Any]
    status: int = 200
    delay: float = 0


def error(status: int, code: str = "", message: str = "scripted error") -> Reply:
    """An error in the shape OpenAI's API gives it."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return Reply({"error": {"message": message, "type": kind, "code": code}}, status)


@dataclass
class FakeServer:
    """A running server."""

    url: str
    requests: list[Request] = field(default_factory=list)

    @property
    def judged(self) -> list[Request]:
        """Questions to the judge, the preflight's plain example left out."""
        return [r for r in self.requests if r.is_judge and "capital of France" not in r.user]

    @property
    def generated(self) -> list[Request]:
        """Questions to the evaluated model."""
        return [r for r in self.requests if not r.is_judge]


@contextmanager
def serving(answer: Callable[[Request], Reply]) -> Iterator[FakeServer]:
    """Serve until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length)
            if not raw or len(raw) < length:  # the client was killed while it wrote
                return
            request = Request(self.path, json.loads(raw))
            fake.requests.append(request)
            reply = answer(request)
            time.sleep(reply.delay)
            data = json.dumps(reply.body).encode()
            self.send_response(reply.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Keep quiet."""

    with listening(Handler) as url:
        fake = FakeServer(url)
        yield fake


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Have a handler answer at a free port, whose address is given, until the block ends."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A client that was killed is no news."""

    server = Server(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
