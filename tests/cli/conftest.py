"""Runs the real command in processes of its own, against the shared broker process."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from barnabas.client.admin.topics import create_topic
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.group.committed_offsets import fetch_committed
from barnabas.client.producer.record_producer import RecordProducer
from tests.support import fork_server
from tests.support.wait import LIMIT_S


class Cli:
    """`barnabas`, as a user has it."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        kept = {name: v for name, v in os.environ.items() if not name.startswith("BARNABAS_")}
        self.environment = {**kept, "BARNABAS_BOOTSTRAP": bootstrap, "COLUMNS": "100"}
        self._started: list[subprocess.Popen[bytes]] = []

    def run(
        self,
        *arguments: str,
        stdin: str | bytes = b"",
        environment: dict[str, str] | None = None,
        real: bool = False,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run to the end, whatever the exit code; `real` in a new interpreter."""
        return fork_server.run(
            [sys.executable, "-m", "barnabas", *arguments],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            env={**self.environment, **(environment or {})},
            timeout=300,
            check=False,
            real=real,
        )

    def ok(self, *arguments: str, stdin: str | bytes = b"") -> str:
        """Run, expect success, return what it printed."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def json(self, *arguments: str) -> Any:
        """Run with --json, expect success, return what it says."""
        return json.loads(self.ok(*arguments, "--json"))

    def fails(self, code: int, *arguments: str, stdin: str | bytes = b"") -> str:
        """Run, expect this exit code and one line on stderr, and return that."""
        done = self.run(*arguments, stdin=stdin)
        error = done.stderr.decode()
        assert done.returncode == code, f"exit code {done.returncode}: {error}"
        assert error.startswith("error: "), error
        assert error.count("\n") == 1, error
        return error

    def start(self, *arguments: str, **options: Any) -> "subprocess.Popen[bytes]":
        """Start, and leave it running."""
        process = fork_server.Popen(
            [sys.executable, "-m", "barnabas", *arguments],
            env=self.environment,
            stdin=options.get("stdin", subprocess.DEVNULL),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,  # what a test reads line by line must not swallow the rest
            real=options.get("real", False),
        )
        self._started.append(process)
        return process

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


def interrupt(process: "subprocess.Popen[bytes]") -> tuple[int, bytes, bytes]:
    """Ctrl-C; returns the exit code and the rest of what it printed."""
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=LIMIT_S)
    return process.returncode, out, error


@pytest.fixture
def cli(bootstrap: str) -> Iterator[Cli]:
    command = Cli(bootstrap)
    yield command
    command.end()


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"c-{uuid4().hex[:10]}"


@pytest.fixture
def new_topic(cli: Cli, name: str) -> Callable[..., str]:
    """Creates a topic, with records if there are lines of key:value."""

    async def create(partitions: int, lines: list[str]) -> None:
        async with ClusterClient(cli.bootstrap) as cluster:
            await create_topic(cluster, name, partitions=partitions)
            async with RecordProducer(cluster) as producer:
                for line in lines:
                    key, value = line.encode().split(b":")
                    await producer.send(name, value, key=key)

    def run(partitions: int = 1, lines: str = "") -> str:
        asyncio.run(create(partitions, lines.splitlines()))
        return name

    return run


def committed(cli: Cli, group: str) -> dict[int, int]:
    """The committed offsets of a group that reads one topic."""

    async def ask() -> dict[int, int]:
        async with ClusterClient(cli.bootstrap) as cluster:
            found = await fetch_committed(cluster, group)
            return {partition: offset for (_, partition), offset in found.items()}

    return asyncio.run(ask())
