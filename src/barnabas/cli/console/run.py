"""Serves the console in the foreground, says where, and opens the browser."""

import os
import sys
import webbrowser
from typing import TYPE_CHECKING

from barnabas.cli.base.output import say

if TYPE_CHECKING:
    from barnabas.console.options import ConsoleOptions

_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


async def run_console(options: "ConsoleOptions", *, open_browser: bool) -> None:
    """Until it is cancelled."""
    from barnabas.console.server import serve

    def ready(address: str) -> None:
        mode = " (read-only)" if options.read_only else ""
        say(f"console of {options.bootstrap}{mode} until Ctrl-C: {address}")
        if not options.is_local and options.certificate is None:
            say("warning: passwords cross the network unencrypted unless a proxy adds TLS")
        if open_browser and _has_display():
            webbrowser.open(address)

    await serve(options, ready)


def _has_display() -> bool:
    """Whether a browser could open a window here, and not in this terminal."""
    return sys.platform == "darwin" or any(os.environ.get(each) for each in _DISPLAYS)
