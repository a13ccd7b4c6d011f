"""The console of the demo: its address is told at once, and it stays open at the end if wanted."""

import asyncio
import signal
import socket
from importlib.util import find_spec

from examples.demo.processes import Processes

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


async def start_console(processes: Processes, bootstrap: str) -> str | None:
    """Start it on a free port and return its address; None where its packages are missing."""
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        return None
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    await processes.start(
        "-m", "barnabas", "console", "--no-browser", "--bootstrap", bootstrap,
        "--listen", f"localhost:{port}",
        on_line=lambda _: None,
    )  # fmt: skip
    return f"http://localhost:{port}/"


async def until_interrupted() -> None:
    """Wait for Ctrl-C or SIGTERM, which then ends the wait, and not the demo."""
    loop, task, ended = asyncio.get_running_loop(), asyncio.current_task(), asyncio.Event()
    assert task is not None
    for number in _SIGNALS:
        loop.add_signal_handler(number, ended.set)
    try:
        await ended.wait()
    finally:
        for number in _SIGNALS:
            loop.add_signal_handler(number, task.cancel)
