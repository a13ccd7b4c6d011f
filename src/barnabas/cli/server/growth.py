"""Changes to a local cluster that runs: what its supervisor answers at its socket."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from barnabas.broker.settings.config import ConfigError
from barnabas.cli.base.output import say
from barnabas.cli.base.supervisor_socket import socket_path

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


@asynccontextmanager
async def answering(directory: Path, answer: Answer) -> AsyncIterator[None]:
    """Answer requests for the duration of the block: `{"add": 1}`, `{"restart": 2}`, …"""
    path = socket_path(directory)
    turns = asyncio.Lock()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            line = await reader.readline()
            if not line:
                return
            try:
                async with turns:  # one node after the other
                    said = await answer(json.loads(line))
            except ConfigError as error:
                said = {"error": str(error)}
            writer.write(json.dumps(said).encode() + b"\n")
            await writer.drain()
        writer.close()

    server = None
    try:
        server = await _listen(serve, path)
    except OSError as error:
        say(f"warning: nodes can't be added or restarted by command: {path}: {error.strerror}")
    try:
        yield
    finally:
        if server is not None:
            server.close()
            _remove(path)


async def _listen(serve: Serve, path: str) -> asyncio.Server:
    before = os.umask(0o077)  # for the owner only
    try:
        return await asyncio.start_unix_server(serve, path)
    finally:
        os.umask(before)


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        Path(path).unlink()
