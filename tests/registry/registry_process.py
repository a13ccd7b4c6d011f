"""`barnabas registry` in a process, and its REST API."""

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from barnabas.registry.model.contents import Json
from tests.support import fork_server
from tests.support.wait import LIMIT_S, wait_until

_READY = re.compile(r"schema registry of \S+ on (\S+)")
_TYPE = "application/vnd.schemaregistry.v1+json"


class Reply(NamedTuple):
    status: int
    body: Json
    headers: Mapping[str, str]


class RegistryProcess:
    """One instance on a free port."""

    def __init__(self, folder: Path, name: str, bootstrap: str, *options: str) -> None:
        self.log = folder / f"{name}.log"
        command = [sys.executable, "-m", "barnabas", "registry", "--bootstrap", bootstrap]
        command += ["--listen", "127.0.0.1:0", *options]
        with self.log.open("ab") as log:
            self.process = fork_server.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder
            )
        self.url = wait_until(self._url, self.said)

    def said(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]

    def _url(self) -> str | None:
        found = _READY.findall(self.log.read_text(errors="replace"))
        assert self.process.poll() is None, self.said()
        return found[-1] if found else None

    def call(self, method: str, path: str, body: Json = None, **headers: str) -> Reply:
        data = None if body is None else json.dumps(body).encode()
        given = {"Content-Type": _TYPE, **headers}
        request = urllib.request.Request(self.url + path, data, given, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
                return _reply(answer.status, answer.read(), dict(answer.headers))
        except urllib.error.HTTPError as error:
            return _reply(error.code, error.read(), dict(error.headers))

    def get(self, path: str) -> Json:
        found = self.call("GET", path)
        assert found.status == 200, found
        return found.body

    def register(self, subject: str, schema: str, **fields: Json) -> int:
        found = self.call("POST", f"/subjects/{subject}/versions", {"schema": schema, **fields})
        assert found.status == 200, found
        assert isinstance(found.body, dict)
        schema_id = found.body["id"]
        assert isinstance(schema_id, int)
        return schema_id

    @property
    def writes(self) -> bool:
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=LIMIT_S) as answer:
            return b"\nbarnabas_registry_writer 1\n" in answer.read()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end; returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(LIMIT_S)


MakeRegistry = Callable[..., RegistryProcess]


@contextmanager
def registries(folder: Path, bootstrap: str) -> Iterator[MakeRegistry]:
    """Starts instances, and ends those that are left."""
    made: list[RegistryProcess] = []

    def make(*options: str) -> RegistryProcess:
        made.append(RegistryProcess(folder, f"registry-{len(made)}", bootstrap, *options))
        return made[-1]

    try:
        yield make
    finally:
        for each in made:
            if each.process.poll() is None:
                each.kill()


def record(*fields: str) -> str:
    """An Avro record with fields that have defaults."""
    found = [{"name": each, "type": "int", "default": 0} for each in fields]
    return json.dumps({"type": "record", "name": "R", "fields": found})


def _reply(status: int, body: bytes, headers: Mapping[str, str]) -> Reply:
    return Reply(status, json.loads(body) if body else None, headers)
