"""What all commands share: common options, running, and turning failures into exit codes.

`command` makes a typer command from a function, and `cluster_command` one from an async function
that uses a cluster. `--bootstrap`, `--command-config`, `--json` and `--verbose` are added here, so
that they are understood behind every command as well as before it. Every command is made by one of
the two: they turn failures into exit codes.
"""

import inspect
import os
import sys
import traceback
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

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
_MADE = ("ctx", "common", "session")
"""Parameters of commands that are not arguments."""
_INSTALL = "pip install"
_EXTRAS = {"pyspark": "spark"}
"""Of packages that belong to one extra: its name."""

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


_COMMON: dict[str, tuple[Any, object]] = {
    "bootstrap": (Bootstrap, None),
    "as_json": (AsJson, False),
    "command_config": (CommandConfig, None),
    "verbose": (Verbose, False),
}
CLUSTER = ("bootstrap", "command_config")
"""The options that say which cluster."""


@dataclass(slots=True)
class CommonOptions:
    """The options that commands share, as they stood before the command or behind it."""

    bootstrap: str | None = None
    as_json: bool = False
    verbose: bool = False
    command_config: Path | None = None

    def client_config(self) -> ClientConfig:
        """The cluster that they name; raises `InvalidArgument`."""
        return ClientConfig(self.command_config, bootstrap=self.bootstrap)


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


def command(*takes: str) -> Callable[[Callable[..., int | None]], Callable[..., None]]:
    """Make a typer command from a function; it may return an exit code.

    The command has the function's parameters, --verbose, and the options that `takes` names. A
    parameter `common` is the `CommonOptions`: those of the command, and those before it.
    """

    def decorator(function: Callable[..., int | None]) -> Callable[..., None]:
        return typer_command(function, function, parameters_of(function), takes)

    return decorator


def cluster_command(
    function: Callable[..., Coroutine[Any, Any, int | None]], *, json_help: str = JSON_HELP
) -> Callable[..., None]:
    """Make a typer command from an async function; it may return an exit code.

    The command has the function's parameters and all common options. A parameter `session` is the
    `Session`.
    """

    def call(common: CommonOptions, **arguments: Any) -> int | None:
        from barnabas.cli.base.runner import run_async

        config = common.client_config()
        session = Session(config.bootstrap, common.as_json, config)
        return run_async(function(session=session, **arguments))

    return typer_command(call, function, parameters_of(function), tuple(_COMMON), json_help)


def parameters_of(function: Callable[..., object]) -> list[inspect.Parameter]:
    """The parameters of a command that are its arguments and options."""
    found = inspect.signature(function).parameters.values()
    return [each for each in found if each.name not in _MADE]


def typer_command(
    call: Callable[..., int | None],
    described: Callable[..., object],
    own: Iterable[inspect.Parameter],
    takes: Sequence[str],
    json_help: str = JSON_HELP,
) -> Callable[..., None]:
    """A command that runs `call`, with its own parameters and common options.

    Its name and help are those of the function `described`.
    """
    common = {name: each for name, each in _COMMON.items() if name in (*takes, "verbose")}
    if "as_json" in common:
        common["as_json"] = (Annotated[bool, typer.Option("--json", help=json_help)], False)
    asked = inspect.signature(call).parameters.keys() & {"ctx", "common"}

    def run(ctx: typer.Context, **arguments: Any) -> None:
        before = ctx.find_root().obj or CommonOptions()
        given = {name: arguments.pop(name) for name in common}
        options = CommonOptions(
            **{name: given.get(name) or getattr(before, name) for name in _COMMON}
        )
        made = {"ctx": ctx, "common": options}
        arguments |= {name: made[name] for name in asked}
        exit_with(lambda: call(**arguments), verbose=options.verbose)

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("ctx", keyword, annotation=typer.Context),
        *(each.replace(kind=keyword) for each in own),
        *(
            inspect.Parameter(name, keyword, annotation=annotation, default=default)
            for name, (annotation, default) in common.items()
        ),
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__doc__ = described.__doc__
    run.__name__ = described.__name__
    return run


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
        extra = _EXTRAS.get((error.name or "").partition(".")[0], "all")
        return f"{what}: {_INSTALL} 'barnabas[{extra}]'"
    return what


def _is_missing_package(error: ImportError) -> bool:
    """Anything else is a bug."""
    ours = (error.name or "").partition(".")[0] == "barnabas"
    return _INSTALL in str(error) or (isinstance(error, ModuleNotFoundError) and not ours)
