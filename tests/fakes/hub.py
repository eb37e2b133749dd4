"""A Hugging Face Hub with one dataset repository, for the real `datasets` package."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha1
from http.server import BaseHTTPRequestHandler

from tests.fakes.server import listening


@contextmanager
def serving_hub(
    repo: str, revision: str, files: dict[str, bytes]
) -> Iterator[tuple[str, list[str]]]:
    """Serve a dataset repository at one revision.

    Yields:
        The endpoint, and the paths asked for so far.
    """
    asked: list[str] = []
    api = f"/api/datasets/{repo}"

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            asked.append(path)
            name = path.removeprefix(f"/datasets/{repo}/resolve/{revision}/")
            if path in (api, f"{api}/revision/{revision}"):
                self._send(json.dumps(self._info()).encode())
            elif path.startswith(f"{api}/tree/{revision}"):
                self._send(json.dumps([self._entry(name) for name in files]).encode())
            elif name in files:
                self._send(files[name], etag=sha1(files[name]).hexdigest())
            else:
                self._send(b'{"error": "Entry not found"}', 404)

        do_HEAD = do_GET

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            asked.append(self.path)
            self._send(json.dumps([self._entry(n) for n in files if n in raw]).encode())

        def _info(self) -> dict[str, object]:
            siblings = [{"rfilename": name} for name in files]
            return {"id": repo, "sha": revision, "siblings": siblings, "tags": [], "private": False}

        def _entry(self, name: str) -> dict[str, object]:
            data = files[name]
            return {"type": "file", "path": name, "size": len(data), "oid": sha1(data).hexdigest()}

        def _send(self, data: bytes, status: int = 200, etag: str = "x") -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("ETag", f'"{etag}"')
            self.send_header("X-Repo-Commit", revision)
            if status == 404:
                self.send_header("X-Error-Code", "EntryNotFound")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Keep quiet."""

    with listening(Handler) as url:
        yield url, asked
