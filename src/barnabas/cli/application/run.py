"""`barnabas app run`."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.application.loading import load
from barnabas.cli.base import exit_codes
from barnabas.cli.base.client_security import cluster_override
from barnabas.cli.base.command import CLUSTER, CommonOptions, UsageError, command
from barnabas.cli.base.log_format import LogFormat

EPILOG = """\b
Examples:
  barnabas app run orders:app
  barnabas app run orders:app --workers 4 --http 127.0.0.1:8000
  barnabas app run orders:app --reload
  barnabas app run orders:app --log-format json
"""
WORKER = "BARNABAS_APP_WORKER"
SUPERVISOR = "BARNABAS_APP_SUPERVISOR"
_LOOK_EVERY_S = 0.5
_MAX_PORT = 65_535
_GRACE_S = 20.0  # as of `App.serve`
_JOIN_S = 0.5


@command(*CLUSTER)
def run(
    common: CommonOptions,
    name: Annotated[
        str, typer.Argument(metavar="MODULE:NAME", help="Application, as orders:app for orders.py.")
    ],
    workers: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    reload: Annotated[
        bool, typer.Option("--reload", help="Restart when a Python file below changes.")
    ] = False,
    http: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Serve /livez, /readyz and /metrics; worker N at PORT + N.",
            show_default=False,
        ),
    ] = None,
    grace: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Time for records being handled, after Ctrl-C or SIGTERM.",
        ),
    ] = _GRACE_S,
    log_format: Annotated[
        LogFormat, typer.Option(help="Lines of the log: text, or JSON objects.")
    ] = LogFormat.TEXT,
) -> int | None:
    """Run the handlers of an application until Ctrl-C.

    It uses the cluster of --bootstrap and --command-config, or of the variables
    $BARNABAS_BOOTSTRAP and $BARNABAS_COMMAND_CONFIG; without them, the one that it names itself.
    """
    from barnabas.app.logs import set_up_log

    address = None if http is None else _address(http)
    servers = common.bootstrap
    config = common.command_config
    if workers == 1 and not reload:
        set_up_log(as_json=log_format is LogFormat.JSON)
        return _run_here(name, address, servers, config, grace)
    from barnabas.app.state.page import check_exposure
    from barnabas.cli.application.workers import Workers

    app = load(name)  # so that a mistake is told once, and not by workers that start in vain
    if address is not None and app.serves_state:
        check_exposure(address[0], app.state_token)
    arguments = ["app", "run", name, "--log-format", log_format, "--grace", f"{grace:g}"]
    if servers:
        arguments += ["--bootstrap", servers]
    if config:
        arguments += ["--command-config", str(config)]
    return Workers(arguments, workers, address, grace, reloads=reload).run()


def _run_here(
    name: str,
    address: tuple[str, int] | None,
    servers: str | None,
    config: Path | None,
    grace_s: float,
) -> int | None:
    import asyncio
    import logging
    import threading

    import uvloop

    from barnabas.app.opened_clients import HANDLER_THREADS

    # Not for programs that the application starts: they are no workers of this supervisor.
    number, supervisor = os.environ.pop(WORKER, "0"), os.environ.pop(SUPERVISOR, None)
    app = load(name)
    override = cluster_override(config, servers)
    app.security = app.security if override.security is None else override.security
    app.bootstrap_servers = override.bootstrap or app.bootstrap_servers
    app.runs_timers = number == "0"
    if supervisor is not None:
        threading.Thread(target=_end_with, args=(int(supervisor),), daemon=True).start()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(app.serve(http=address, grace_s=grace_s))
    late = [each for each in threading.enumerate() if each.name.startswith(HANDLER_THREADS)]
    for each in late:
        each.join(_JOIN_S)
    if any(each.is_alive() for each in late):
        # Python would wait for functions that take longer than the grace period. All is closed.
        logging.shutdown()
        sys.stdout.flush()
        os._exit(exit_codes.OK)
    return None


def _end_with(supervisor: int) -> None:
    """A supervisor that is killed leaves its workers behind: its successor has workers of its own.

    They finish what they handle, as after SIGTERM.
    """
    while os.getppid() == supervisor:
        time.sleep(_LOOK_EVERY_S)
    os.kill(os.getpid(), signal.SIGTERM)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > _MAX_PORT:
        raise UsageError(f"--http {text}: write HOST:PORT, such as 127.0.0.1:8000")
    return host or "127.0.0.1", int(port)
