"""The schema registry: requests a second and their times, of eight connections and of one.

    python -m benchmarks registry [--quick]
    BARNABAS_BENCH_REGISTRY=http://localhost:8081 python -m benchmarks registry

A broker and `barnabas registry` run on this machine, with 100 schemas. Eight connections ask for a
schema by id and for the latest version of a subject, and register schemas that are there already;
each waits for its answer before it asks again. New schemas are registered over one connection and
over eight: such an answer waits for a transaction. The client is this process, and takes a part of
the processors too.

`BARNABAS_BENCH_REGISTRY` is the URL of another registry with the same API that you run on this
machine, such as Karapace or Confluent's, with a Kafka of your choice. It gets schemas in subjects
called `barnabas-bench-…`, which it keeps.
"""

import asyncio
import json
import os
import secrets
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from urllib.parse import urlsplit

from barnabas.embedded.ports import Ports
from benchmarks.bench import Bench, Row
from benchmarks.brokers import BARNABAS, Contender

OTHER_REGISTRY = "other registry"
_ELSEWHERE = "BARNABAS_BENCH_REGISTRY"
_SCHEMAS = 100
_CONNECTIONS = 8
_READY_S = 60
_TYPE = "application/vnd.schemaregistry.v1+json"

Request = tuple[str, str, object]
"""Method, path and body."""


@dataclass(frozen=True)
class _Times:
    per_second: float
    median_ms: float
    late_ms: float
    """Of 99 of 100 answers the longest."""


def measure(bench: Bench) -> list[Row]:
    seconds = 2.0 if bench.quick else 10.0
    found: dict[str, dict[str, _Times]] = {}
    with _started() as url:
        found[BARNABAS] = asyncio.run(_measured(url, seconds))
    if _ELSEWHERE in os.environ:
        found[OTHER_REGISTRY] = asyncio.run(_measured(os.environ[_ELSEWHERE], seconds))
    rows = []
    for what in found[BARNABAS]:
        of = {name: times[what] for name, times in found.items()}
        rows += [
            Row(what, "requests/s", {name: each.per_second for name, each in of.items()}),
            Row(f"{what}, median", "ms", {name: each.median_ms for name, each in of.items()}),
            Row(f"{what}, p99", "ms", {name: each.late_ms for name, each in of.items()}),
        ]
    return rows


@contextmanager
def _started() -> Iterator[str]:
    """A registry on a broker of its own; its URL."""
    ports = Ports(1)
    url = f"http://127.0.0.1:{ports.numbers[0]}"
    with Contender(BARNABAS).started() as broker:
        command = [sys.executable, "-m", "barnabas", "registry"]
        command += ["--bootstrap", f"{broker.host}:{broker.port}", "--listen", url[7:]]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            _wait_until_ready(url, process)
            yield url
        finally:
            process.terminate()
            process.wait()
            ports.close()


def _wait_until_ready(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _READY_S
    while True:
        try:
            with urllib.request.urlopen(f"{url}/subjects", timeout=_READY_S):
                return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


async def _measured(url: str, seconds: float) -> dict[str, _Times]:
    run = secrets.token_hex(4)
    numbers = count()

    def subject(number: int) -> str:
        return f"barnabas-bench-{run}-{number % _SCHEMAS}"

    def known(number: int) -> Request:
        body = {"schema": _schema(f"{run}_{number % _SCHEMAS}")}
        return "POST", f"/subjects/{subject(number)}/versions", body

    def new(number: int) -> Request:
        body = {"schema": _schema(f"{run}_new_{number}")}
        return "POST", f"/subjects/barnabas-bench-{run}-new-{number}/versions", body

    connection = await _Connection.open(url)
    ids = [json.loads(await connection.ask(*known(each)))["id"] for each in range(_SCHEMAS)]
    connection.close()
    found = {
        "schema by id": await _asked(
            url, lambda: ("GET", f"/schemas/ids/{ids[next(numbers) % _SCHEMAS]}", None), seconds
        ),
        "latest version of a subject": await _asked(
            url,
            lambda: ("GET", f"/subjects/{subject(next(numbers))}/versions/latest", None),
            seconds,
        ),
        "known schema registered": await _asked(url, lambda: known(next(numbers)), seconds),
    }
    for connections in (1, _CONNECTIONS):
        what = f"new schema registered, {connections} at once"
        found[what] = await _asked(url, lambda: new(next(numbers)), seconds, connections)
    return found


def _schema(name: str) -> str:
    fields = [{"name": f"field_{each}", "type": "string"} for each in range(10)]
    return json.dumps({"type": "record", "name": f"R_{name}", "fields": fields})


async def _asked(
    url: str, request: Callable[[], Request], seconds: float, connections: int = _CONNECTIONS
) -> _Times:
    times: list[float] = []
    end = time.perf_counter() + seconds

    async def ask() -> None:
        connection = await _Connection.open(url)
        while (began := time.perf_counter()) < end:
            await connection.ask(*request())
            times.append(time.perf_counter() - began)
        connection.close()

    began = time.perf_counter()
    await asyncio.gather(*(ask() for _ in range(connections)))
    taken = time.perf_counter() - began
    times.sort()
    late = times[min(len(times) - 1, int(len(times) * 0.99))]
    return _Times(len(times) / taken, times[len(times) // 2] * 1e3, late * 1e3)


class _Connection:
    """One that is kept alive."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._host = host

    @classmethod
    async def open(cls, url: str) -> "_Connection":
        parts = urlsplit(url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        return cls(reader, writer, parts.netloc)

    async def ask(self, method: str, path: str, body: object) -> bytes:
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\nAccept: {_TYPE}\r\n"
        if data:
            head += f"Content-Type: {_TYPE}\r\nContent-Length: {len(data)}\r\n"
        self._writer.write(f"{head}\r\n".encode() + data)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status, *lines = answer.lower().split("\r\n")
        sizes = [line for line in lines if line.startswith("content-length:")]
        found = await self._reader.readexactly(int(sizes[0].partition(":")[2]))
        if status.split(" ")[1] != "200":
            raise RuntimeError(f"{method} {path}: {status} {found[:200]!r}")
        return found

    def close(self) -> None:
        self._writer.close()
