"""A real Prometheus that scrapes every second."""

import json
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import yaml

from barnabas.embedded.ports import Ports
from tests.support.wait import wait_until

_EVERY = "1s"
_TIMEOUT_S = 120


class Prometheus:
    """`program` with the given rules and targets. A context manager."""

    def __init__(
        self, program: Path, directory: Path, targets: Sequence[str], rules: Mapping[str, Any]
    ) -> None:
        directory.mkdir()
        self._directory = directory
        self._program = program
        self._ports = Ports(1)
        (directory / "alerts.yml").write_text(yaml.safe_dump(dict(rules)))
        config = {
            "global": {"scrape_interval": _EVERY, "evaluation_interval": _EVERY},
            "rule_files": ["alerts.yml"],
            "scrape_configs": [
                {"job_name": "barnabas", "static_configs": [{"targets": list(targets)}]}
            ],
        }
        (directory / "prometheus.yml").write_text(yaml.safe_dump(config))

    def __enter__(self) -> Self:
        log = (self._directory / "log").open("wb")
        with log:
            self._process = subprocess.Popen(
                [
                    self._program,
                    f"--config.file={self._directory / 'prometheus.yml'}",
                    f"--storage.tsdb.path={self._directory / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self._ports.numbers[0]}",
                ],
                stdout=log,
                stderr=log,
            )
        wait_until(self._is_ready, "Prometheus is not ready")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._ports.close()

    def _is_ready(self) -> bool:
        assert self._process.poll() is None, (self._directory / "log").read_text()
        try:
            self.ask("status/buildinfo")
        except OSError:
            return False
        return True

    def ask(self, path: str, **parameters: str) -> Any:
        """The data of an answer of its API."""
        query = urllib.parse.urlencode(parameters)
        url = f"http://127.0.0.1:{self._ports.numbers[0]}/api/v1/{path}?{query}"
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
            return json.load(answer)["data"]

    def query(self, expression: str) -> list[Any]:
        found: list[Any] = self.ask("query", query=expression)["result"]
        return found

    def firing(self) -> set[str]:
        """The names of alerts that fire."""
        alerts = self.ask("alerts")["alerts"]
        return {each["labels"]["alertname"] for each in alerts if each["state"] == "firing"}
