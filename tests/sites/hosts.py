"""Small HTTP hosts on loopback addresses of their own: 127.0.0.2, 127.0.0.3, ..."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SENT = "X-Sent"
"""A field with the second, monotonic, at which the crawl took a request from its slot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"<html>page</html>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request; ``time`` is when the crawl sent it, by its own word: a busy host notes it late."""

    host: str
    path: str
    cookie: str | None
    time: float


Answers = dict[str, "Answer | list[Answer] | Callable[[str | None], Answer]"]


class Host:
    """Answers by path: one answer, a list (one a visit, the last again), or a function of Cookie.

    A path that is not there is a 404, so robots.txt allows all unless it is given.
    """

    def __init__(self, address: str, answers: Answers) -> None:
        self.address = address
        self.answers = answers
        self.visits: list[Visit] = []
        self.counts: Counter[str] = Counter()
        host = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                host.answer(self)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer((address, 0), Handler)
        self.server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://{self.address}:{self.server.server_port}"

    def paths(self) -> list[str]:
        return [visit.path for visit in self.visits]

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path, cookie = handler.path, handler.headers["Cookie"]
        sent = float(handler.headers.get(SENT, 0))
        self.visits.append(Visit(host=self.address, path=path, cookie=cookie, time=sent))
        answer = self.answers.get(path, Answer(status=404))
        if isinstance(answer, list):
            answer = answer[min(self.counts[path], len(answer) - 1)]
        elif not isinstance(answer, Answer):
            answer = answer(cookie)
        self.counts[path] += 1
        handler.send_response(answer.status)
        headers = {"Content-Type": "text/html", "Content-Length": str(len(answer.body))}
        for name, value in (headers | answer.headers).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(answer.body)


@contextmanager
def hosts(*answers: Answers) -> Iterator[list[Host]]:
    """One running host for each of *answers*, from 127.0.0.2 on."""
    with ExitStack() as stack:
        running = [Host(f"127.0.0.{n}", each) for n, each in enumerate(answers, start=2)]
        for host in running:
            stack.callback(host.server.server_close)
            stack.callback(host.server.shutdown)
            threading.Thread(target=host.server.serve_forever, args=(0.05,), daemon=True).start()
        yield running
