"""A real console, started by the command that users start it with."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.support import fork_server
from tests.support.wait import LIMIT_S, wait_until

_READY = re.compile(r" until Ctrl-C: (https?://\S+:\d+)/")


class ConsoleProcess:
    """`barnabas console` on a free port."""

    def __init__(self, bootstrap: str, log: Path, *options: str) -> None:
        self._log = log
        self._command = [
            *(sys.executable, "-m", "barnabas", "console", "--listen", "localhost:0"),
            *("--no-browser", "--bootstrap", bootstrap, *options),
        ]
        self.url = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._token: str | None = None
        self.cookie = ""

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = fork_server.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.url = wait_until(self._address, lambda: self._log.read_text())
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(LIMIT_S)
        finally:
            self._process.kill()

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None
        return self._process

    def _address(self) -> str | None:
        assert self.process.poll() is None, self._log.read_text()
        found = _READY.search(self._log.read_text())
        return found[1] if found else None

    # -- the API -------------------------------------------------------------------------------

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body, whatever they are."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, data, dict(headers or {}), method=method)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        if self.cookie:
            request.add_header("Cookie", self.cookie)
        try:
            with urlopen(request, timeout=LIMIT_S) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except HTTPError as error:
            return error.code, dict(error.headers), error.read()

    def get(self, path: str) -> Any:
        status, _, body = self.ask(path)
        assert status == 200, body
        return json.loads(body)

    @property
    def token(self) -> str:
        if self._token is None:
            self._token = self.get("/api/session")["token"]
        return self._token

    def change(self, method: str, path: str, body: object = None) -> Any:
        """Make a change as the page does."""
        status, _, answer = self.try_change(method, path, body)
        assert status == 200, answer
        return json.loads(answer)

    def try_change(
        self, method: str, path: str, body: object = None
    ) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"X-Barnabas-Token": self.token}
        return self.ask(path, method=method, body=body, headers=headers)
