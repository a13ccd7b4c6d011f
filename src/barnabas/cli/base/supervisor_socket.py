"""How commands reach the supervisor of a local cluster: a socket in its data directory.

A request and its answer are one line of JSON each. Only the owner of the directory may connect.
"""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from barnabas.cli.base.command import CommandError

_NAME = "supervisor.sock"
_LONGEST = 100  # the address of a socket in the file system has a little more than that


def socket_path(directory: Path) -> str:
    """The socket's path; behind a descriptor of the directory if it would be too long."""
    path = str(directory / _NAME)
    if len(os.fsencode(path)) <= _LONGEST:
        return path
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    return f"/proc/self/fd/{descriptor}/{_NAME}"


async def ask_supervisor(directory: Path, request: dict[str, Any]) -> dict[str, Any]:
    """Raises `CommandError` if no supervisor answers, or if it can't do what is asked."""
    try:
        reader, writer = await asyncio.open_unix_connection(socket_path(directory))
    except OSError as error:
        raise CommandError(
            f"no local cluster runs with its data in {directory}; start it with "
            f"`barnabas server --nodes N --data {directory}`, and run this as the same user"
        ) from error
    try:
        writer.write(json.dumps(request).encode() + b"\n")
        line = await reader.readline()
    finally:
        writer.close()
    if not line:
        raise CommandError("the local cluster was stopped before it answered")
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise CommandError(answer["error"])
    return answer
