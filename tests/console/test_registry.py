"""A schema registry that is away, redirects, or answers oddly."""

import asyncio
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

import pytest

from barnabas.console.schemas.registry import SchemaRegistry


class Odd(BaseHTTPRequestHandler):
    """Answers what `answers` has for an id, with a redirection for a text."""

    answers: ClassVar[dict[str, object]] = {}
    asked: ClassVar[list[tuple[str, str | None]]] = []

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers["Authorization"]))
        found = self.answers[self.path.rpartition("/")[2]]
        self.send_response(302 if isinstance(found, str) else 200)
        if isinstance(found, str):
            self.send_header("Location", found)
        self.end_headers()
        self.wfile.write(json.dumps(found).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    Odd.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Odd) as found:
        thread = Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def test_odd_answers_are_problems_of_their_ids(server: ThreadingHTTPServer) -> None:
    port = server.server_address[1]
    Odd.answers = {
        "1": {"schema": "{}", "references": [{"name": "x"}]},
        "2": {"schema": "{}", "references": 7},
        "3": {"schema": "{}", "references": ["text"]},
        "4": f"http://127.0.0.1:{port}/elsewhere/9",
        "9": {"schema": "{}"},
    }

    async def ask() -> SchemaRegistry:
        registry = SchemaRegistry(f"http://user:secret@127.0.0.1:{port}")
        await registry.prepare([1, 2, 3, 4])
        return registry

    registry = asyncio.run(ask())
    for number in (1, 2, 3):
        assert "does not answer as a schema registry" in (registry.problem(number) or "")
    assert "302" in (registry.problem(4) or "")
    assert not [path for path, _ in Odd.asked if "elsewhere" in path]


def test_a_registry_that_is_away_is_not_asked_for_each_id() -> None:
    async def ask() -> SchemaRegistry:
        registry = SchemaRegistry("http://127.0.0.1:1")
        await registry.prepare(range(1_000))
        return registry

    registry = asyncio.run(ask())
    assert registry._failed == {}
    assert "no answer from" in (registry.problem(999) or "")
