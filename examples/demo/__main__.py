"""Runs the demo: `python -m examples.demo`, or `make demo`."""

import argparse
import asyncio
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from barnabas.errors import BarnabasError
from examples.demo.accounting import Check
from examples.demo.play import Play
from examples.demo.processes import ProcessCrashedError


def main() -> int:
    """0: every promise was kept; 1: one was broken; 130: interrupted."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--minutes", type=int, default=30, help="of the website's life")
    parser.add_argument("--seconds", type=float, default=24, help="what they take of ours, about")
    parser.add_argument("--rate", type=int, default=700, help="events a second")
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="for the results")
    parser.add_argument("--plain", action="store_true", help="lines instead of a live view")
    parser.add_argument("--console", action="store_true", help="keep the console open at the end")
    options = parser.parse_args()
    console = Console()
    began = time.monotonic()
    play = Play(
        console,
        minutes=options.minutes,
        seconds=options.seconds,
        rate=options.rate,
        output=options.output,
        plain=options.plain or not console.is_terminal,
        stay=options.console,
    )
    try:
        checks = asyncio.run(_until_terminated(play))
    except (KeyboardInterrupt, asyncio.CancelledError):
        console.print("interrupted; everything is cleaned up")
        return 130
    except (ProcessCrashedError, BarnabasError) as error:
        console.print(f"error: {error}", style="red", highlight=False, markup=False)
        return 1
    sentence, exit_code = verdict(checks)
    took_s = time.monotonic() - began - play.watched_s
    console.print(f"That took {took_s:.0f} seconds.", highlight=False)
    console.print(sentence, style="bold red" if exit_code else "bold green", highlight=False)
    return exit_code


def verdict(checks: Iterable[Check]) -> tuple[str, int]:
    """A sentence, and the exit code."""
    broken = [check.promise for check in checks if not check.kept]
    if broken:
        return f"Not kept: {'; '.join(broken)}.", 1
    return "All promises kept.", 0


async def _until_terminated(play: Play) -> list[Check]:
    """SIGTERM ends the demo as Ctrl-C does; a second one does not keep it from cleaning up."""
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await play.perform()


if __name__ == "__main__":
    sys.exit(main())
