"""What all commands share: common options, running, and turning failures into exit codes.

`cluster_command` makes a typer command from an async function whose first parameter is a
`Session`; the other parameters are its own arguments. `--bootstrap`, `--command-config`, `--json`
and `--verbose` are added here, so that they are understood behind every command as well as before
it.
"""

import inspect
import os
import sys
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, get_type_hints

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.client_security import (
    BOOTSTRAP_VARIABLE,
    DEFAULT_BOOTSTRAP,
    ClientConfig,
    CommandConfig,
)
from barnabas.cli.base.interrupt import raise_on_interrupt
from barnabas.cli.base.output import say

if TYPE_CHECKING:
    from barnabas.client.connect.cluster_client import ClusterClient

CLIENT_ID = "barnabas-cli"
_SILENCE_S = 3
_INSTALL = "pip install"

Bootstrap = Annotated[
    str | None,
    typer.Option(
        "--bootstrap",
        "-b",
        metavar="HOST:PORT",
        help=f"Bootstrap brokers, separated by commas. Default: ${BOOTSTRAP_VARIABLE}, the profile "
        f"in use, or {DEFAULT_BOOTSTRAP}.",
        show_default=False,
    ),
]
JSON_HELP = "Print JSON for scripts."
AsJson = Annotated[bool, typer.Option("--json", help=JSON_HELP)]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print the traceback of an error.")]
Report = Annotated[
    bool,
    typer.Option(
        "--report/--no-report",
        help="Report progress to the topic __barnabas_pipelines, for the console.",
    ),
]


@dataclass(slots=True)
class CommonOptions:
    """The options that stood before the command."""

    bootstrap: str | None = None
    as_json: bool = False
    verbose: bool = False
    command_config: Path | None = None


@dataclass(slots=True)
class Session:
    """One run of a command that talks to a cluster."""

    bootstrap: str
    as_json: bool
    config: ClientConfig

    def connect(
        self,
        *,
        retry_timeout_ms: int = 30_000,
        request_timeout_ms: int = 30_000,
        connect_timeout_ms: int = 5_000,
    ) -> "ClusterClient":
        """The cluster, to be used as an async context manager."""
        from barnabas.client.connect.cluster_client import ClusterClient

        return ClusterClient(
            self.bootstrap,
            client_id=CLIENT_ID,
            retry_timeout_ms=retry_timeout_ms,
            request_timeout_ms=request_timeout_ms,
            connect_timeout_ms=connect_timeout_ms,
            on_retry=WaitingNotice(),
            security=self.config.security(),
        )


class WaitingNotice:
    """Says once what a command waits for, when it has waited for a while."""

    def __init__(self) -> None:
        self._said = False

    def __call__(self, reason: Exception, waited_s: float) -> None:
        if waited_s >= _SILENCE_S and not self._said:
            self._said = True
            say(f"still waiting: {reason}")


class CommandError(Exception):
    """A failure that is said in one line."""

    def __init__(self, message: str, exit_code: int = exit_codes.FAILURE) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class UsageError(CommandError):
    """Arguments that do not go together, or make no sense."""

    def __init__(self, message: str) -> None:
        super().__init__(message, exit_codes.USAGE)


def cluster_command(
    function: Callable[..., Coroutine[Any, Any, int | None]], *, json_help: str = JSON_HELP
) -> Callable[..., None]:
    """Make a typer command from an async function; it may return an exit code."""

    def run(
        ctx: typer.Context,
        *,
        bootstrap: str | None,
        as_json: bool,
        verbose: bool,
        command_config: Path | None,
        **arguments: Any,
    ) -> None:
        before = common_options(ctx)

        def call() -> int | None:
            from barnabas.cli.base.runner import run_async

            config = client_config(bootstrap, command_config, before)
            session = Session(config.bootstrap, as_json or before.as_json, config)
            return run_async(function(session, **arguments))

        exit_with(call, verbose=verbose or before.verbose)

    as_json = Annotated[bool, typer.Option("--json", help=json_help)]
    common: dict[str, tuple[Any, object]] = {
        "bootstrap": (Bootstrap, None),
        "as_json": (as_json, False),
        "command_config": (CommandConfig, None),
        "verbose": (Verbose, False),
    }
    _take_over_signature(run, function, common)
    return run


def client_config(
    bootstrap: str | None, command_config: Path | None, before: CommonOptions
) -> ClientConfig:
    """The cluster that the options of a command name; raises `InvalidArgument`."""
    return ClientConfig(
        command_config or before.command_config, bootstrap=bootstrap or before.bootstrap
    )


def common_options(ctx: typer.Context) -> CommonOptions:
    """The options before the command."""
    before = ctx.find_root().obj
    return before if isinstance(before, CommonOptions) else CommonOptions()


def exit_with(call: Callable[[], int | None], *, verbose: bool) -> NoReturn:
    """Run something and leave the process with the exit code that fits what happened."""
    from barnabas.errors import BarnabasError, BrokerUnreachable, InvalidArgument

    try:
        raise_on_interrupt()
        code = call() or exit_codes.OK
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, say `head`, has seen enough. What is left in the buffer has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = exit_codes.OK
    except KeyboardInterrupt:
        code = exit_codes.INTERRUPTED
    except (BarnabasError, CommandError, ImportError, OSError) as error:
        if isinstance(error, ImportError) and not _is_missing_package(error):
            raise
        if verbose:
            traceback.print_exc()
        say(f"error: {_with_extra(error)}")
        code = exit_codes.FAILURE
        if isinstance(error, CommandError):
            code = error.exit_code
        elif isinstance(error, BrokerUnreachable):
            code = exit_codes.UNREACHABLE
        elif isinstance(error, InvalidArgument):
            code = exit_codes.USAGE
    raise typer.Exit(code)


def _with_extra(error: Exception) -> str:
    """What happened; of a package that is not installed, also how to install it."""
    what = str(error)
    if isinstance(error, ImportError) and _INSTALL not in what:
        return f"{what}: {_INSTALL} 'barnabas[all]'"
    return what


def _is_missing_package(error: ImportError) -> bool:
    """Anything else is a bug."""
    ours = (error.name or "").partition(".")[0] == "barnabas"
    return _INSTALL in str(error) or (isinstance(error, ModuleNotFoundError) and not ours)


def _take_over_signature(
    run: Callable[..., None],
    function: Callable[..., object],
    common: dict[str, tuple[Any, object]],
) -> None:
    """Let `run` look to typer like `function`, without the session and with the common options."""
    hints = get_type_hints(function, include_extras=True)
    own = list(inspect.signature(function).parameters.values())[1:]
    parameters = [
        inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    ]
    parameters += [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[each.name])
        for each in own
    ]
    parameters += [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
        )
        for name, (annotation, default) in common.items()
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__doc__ = function.__doc__
    run.__name__ = function.__name__
