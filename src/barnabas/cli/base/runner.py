"""Runs the asynchronous part of a command."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

from barnabas.cli.base import exit_codes


def run_async(command: Coroutine[Any, Any, int | None]) -> int | None:
    """Run to the end and return the exit code, None for success.

    SIGINT and SIGTERM cancel, so that commands can tidy up; after that SIGINT raises
    KeyboardInterrupt, and SIGTERM has an exit code.
    """
    terminated = False

    async def main() -> int | None:
        task = asyncio.current_task()
        assert task is not None

        def terminate() -> None:
            nonlocal terminated
            terminated = True
            task.cancel()

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
        return await command

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        if terminated:
            return exit_codes.TERMINATED
        raise
