"""`barnabas health`: ask a node how it is, for the health checks of containers and for scripts."""

import os
from collections.abc import Mapping
from typing import Annotated

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommandError, CommonOptions, UsageError, command
from barnabas.cli.base.output import print_json, print_line

EPILOG = """\b
Examples:
  barnabas health
  barnabas health startup --address node-1:9404
"""
_DEFAULT = "localhost:19092"
_VARIABLE = "BARNABAS_METRICS_LISTENERS"
_PAGES = {"ready": "readyz", "live": "livez", "startup": "startupz"}
_WILDCARDS = ("", "*", "0.0.0.0", "[::]")  # noqa: S104 - not bound
_TIMEOUT_S = 5


@command("as_json")
def health(
    common: CommonOptions,
    what: Annotated[
        str, typer.Argument(metavar="[ready|live|startup]", help="What to ask for.")
    ] = "ready",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help=f"Where the node serves its metrics. Default: ${_VARIABLE} or {_DEFAULT}.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Ask a node whether it is ready, alive or started.

    A node is ready if it serves clients, has contact with the controller, its own replicas are in
    sync, and no partition that it leads is under-replicated. The exit code is 0 if so, 1 if not,
    and 3 if the node does not answer.
    """
    if what not in _PAGES:
        raise UsageError(f"{what}: use {', '.join(_PAGES)}")
    where = _reachable(address or os.environ.get(_VARIABLE) or _DEFAULT)
    is_good, answer = _get(f"http://{where}/{_PAGES[what]}")
    if common.as_json:
        print_json(answer)
    else:
        said = "" if is_good else f": {_why(answer)}"
        print_line(f"{where}: {'' if is_good else 'not '}{_WORDS[what]}{said}")
    return exit_codes.OK if is_good else exit_codes.FAILURE


_WORDS = {"ready": "ready", "live": "alive", "startup": "started"}


def _reachable(listener: str) -> str:
    """The address of a listener that takes connections on all addresses is this machine."""
    host, _, port = listener.removeprefix("http://").rpartition(":")
    return f"127.0.0.1:{port}" if host in _WILDCARDS else f"{host}:{port}"


def _get(url: str) -> tuple[bool, dict[str, object]]:
    """Whether the node says yes, and what it says. Raises `CommandError`."""
    import json
    from urllib.error import HTTPError, URLError
    from urllib.request import urlopen

    try:
        try:
            with urlopen(url, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - always http
                return True, json.loads(answer.read())
        except HTTPError as error:
            return False, json.loads(error.read())
    except (URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise CommandError(
            f"no answer from {url} ({reason}); is metrics.listeners of the node at that address?",
            exit_codes.UNREACHABLE,
        ) from None
    except ValueError:
        raise CommandError(
            f"{url} does not answer as a node does; is it metrics.listeners of a node?"
        ) from None


def _why(answer: Mapping[str, object]) -> str:
    """The reasons that a node gives, or how far its start is."""
    reasons = answer.get("reasons")
    if isinstance(reasons, list) and reasons:
        return "; ".join(map(str, reasons))
    return str(answer.get("phase") or "")
