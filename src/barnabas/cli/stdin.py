"""Lines from standard input, without blocking the event loop.

A thread of our own reads, straight from the descriptor: a pool's thread would keep the process from
ending while it waits for input, and Python's buffered stdin must not be in use when it ends.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator

_CHUNK_BYTES = 256 * 1024
_CHUNKS_AHEAD = 4
_END = b""


async def read_lines(descriptor: int = 0) -> AsyncIterator[list[bytes]]:
    """Lines as they come, some at a time, without their line ends."""
    rest = b""
    async for chunk in _read_chunks(descriptor):
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield lines
    if rest:
        yield [rest]


async def _read_chunks(descriptor: int) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[bytes | OSError] = asyncio.Queue(_CHUNKS_AHEAD)

    def read() -> None:
        while True:
            found: bytes | OSError
            try:
                found = os.read(descriptor, _CHUNK_BYTES)
            except OSError as error:
                found = error
            try:
                asyncio.run_coroutine_threadsafe(chunks.put(found), loop).result()
            except RuntimeError:
                return  # the loop is gone, and with it everybody who wanted input
            if not isinstance(found, bytes) or found == _END:
                return

    threading.Thread(target=read, name="stdin", daemon=True).start()
    while True:
        found = await chunks.get()
        if isinstance(found, OSError):
            raise found
        if found == _END:
            return
        yield found
