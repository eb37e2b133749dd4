"""OpenAI's batches: a file of requests goes up, its answers come down some time later."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.fakes.server import FakeServer, Reply, Request, listening


@dataclass
class BatchServer(FakeServer):
    """A running server; `requests` are those that came one by one."""

    batches: list[list[Request]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def batched(self) -> list[Request]:
        """All requests that came in batches."""
        return [request for batch in self.batches for request in batch]


@contextmanager
def serving_batches(answer: Callable[[Request], Reply]) -> Iterator[BatchServer]:
    """Serve chat completions, one by one and in batches, until the block ends.

    A batch is done when it is first asked for. Requests of it that fail are in its error file,
    in the form in which the API gives them.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.removeprefix("/v1")
            if path == "/files":
                self._json(_file(fake, _uploaded(self.headers["Content-Type"], raw)))
            elif path == "/batches":
                self._json(_batch(fake, json.loads(raw)["input_file_id"], answer))
            else:
                request = Request(self.path, json.loads(raw))
                fake.requests.append(request)
                reply = answer(request)
                self._json(reply.body, reply.status)

        def do_GET(self) -> None:
            kind, name, *_ = self.path.removeprefix("/v1/").split("/")
            if kind == "batches":
                self._json(json.loads(fake.files[name]))
            else:
                self._send(fake.files[name])

        def _json(self, body: dict[str, Any], status: int = 200) -> None:
            self._send(json.dumps(body).encode(), status)

        def _send(self, data: bytes, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Keep quiet."""

    with listening(Handler) as url:
        fake = BatchServer(url)
        yield fake


def _uploaded(content_type: str, raw: bytes) -> bytes:
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    form = BytesParser(EmailMessage, policy=HTTP).parsebytes(head + raw)
    part = next(p for p in form.iter_parts() if p.get_filename())
    content = part.get_payload(decode=True)
    assert isinstance(content, bytes)
    return content


def _file(fake: BatchServer, content: bytes) -> dict[str, Any]:
    name = f"file-{len(fake.files)}"
    fake.files[name] = content
    return {
        "id": name,
        "object": "file",
        "bytes": len(content),
        "created_at": 1,
        "filename": "batch.jsonl",
        "purpose": "batch",
        "status": "processed",
    }


def _batch(fake: BatchServer, file: str, answer: Callable[[Request], Reply]) -> dict[str, Any]:
    lines = [json.loads(line) for line in fake.files[file].decode().splitlines()]
    requests = [Request(line["url"], line["body"]) for line in lines]
    fake.batches.append(requests)
    done: list[str] = []
    failed: list[str] = []
    for line, request in zip(lines, requests, strict=True):
        reply = answer(request)
        response = {"status_code": reply.status, "request_id": "req_1", "body": reply.body}
        told = {"id": "batch_req_1", "custom_id": line["custom_id"], "response": response}
        (done if reply.status == 200 else failed).append(json.dumps({**told, "error": None}))
    results = {
        f"{name}_file_id": _file(fake, "\n".join(some).encode())["id"] if some else None
        for name, some in (("output", done), ("error", failed))
    }
    name = f"batch_{len(fake.batches)}"
    told = {
        "id": name,
        "object": "batch",
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
        "created_at": 1,
        "input_file_id": file,
        "status": "completed",
        "request_counts": {"total": len(lines), "completed": len(done), "failed": len(failed)},
        **results,
    }
    fake.files[name] = json.dumps(told).encode()
    return told
