"""`barnabas connect`: run connectors as a service, and manage them through its REST API."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommonOptions, UsageError, command
from barnabas.cli.base.output import print_json, print_line, print_table, say
from barnabas.cli.base.pairs import parse_pairs
from barnabas.cli.connect import rights as rights_command
from barnabas.cli.connect import run as run_command
from barnabas.cli.connect.config_file import config_in
from barnabas.cli.connect.view import print_config, print_connectors, print_status, state_of

if TYPE_CHECKING:
    from barnabas.connect.rest_client import RestClient

app = typer.Typer(
    no_args_is_help=True,
    help="Run connectors as a service, and manage them.",
)
app.command("run", epilog=run_command.EPILOG)(run_command.run)
app.command("rights", epilog=rights_command.EPILOG)(rights_command.rights)

Url = Annotated[
    str,
    typer.Option(
        "--url", metavar="URL", envvar="BARNABAS_CONNECT_URL", help="REST API of the service."
    ),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Connector.")]
DEFAULT_URL = "http://127.0.0.1:8083"


def _client(url: str) -> "RestClient":
    from barnabas.connect.rest_client import RestClient

    return RestClient(url)


@app.command("list")
@command("as_json")
def list_connectors(common: CommonOptions, url: Url = DEFAULT_URL) -> int:
    """List connectors with their states; exit code 1 if one has failed."""
    client = _client(url)
    found = client.call("GET", "connectors", query="?expand=status&expand=info")
    if common.as_json:
        print_json(found)
    else:
        print_connectors(found)
    failed = any(state_of(each["status"]) == "FAILED" for each in found.values())
    return exit_codes.FAILURE if failed else exit_codes.OK


@app.command("create")
@command("as_json")
def create(
    common: CommonOptions,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help='JSON with "name" and "config", or only the config; - for standard input; or a '
            ".sql file.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Connector, if FILE has no name."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="NAME=VALUE", help="Setting; may be repeated."),
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Change the connector if there is one.")
    ] = False,
    url: Url = DEFAULT_URL,
) -> None:
    """Create a connector, and start it."""
    config = {**config_in(file), **parse_pairs(settings or [], "--set")}
    called = name or config.get("name") or (file.stem if file and file.suffix == ".sql" else None)
    if not called:
        raise UsageError("the connector has no name: --name NAME")
    client = _client(url)
    if update:
        made = client.call("PUT", "connectors", called, "config", body=config)
    else:
        made = client.call("POST", "connectors", body={"name": called, "config": config})
    if common.as_json:
        print_json(made)
    else:
        say(f"connector {called} is {'up to date' if update else 'created'}")


@app.command("status")
@command("as_json")
def status(common: CommonOptions, name: Name, url: Url = DEFAULT_URL) -> int:
    """Show a connector and its tasks, and why they have failed; exit code 1 if they have."""
    client = _client(url)
    found = client.call("GET", "connectors", name, "status")
    if common.as_json:
        print_json(found)
    else:
        print_status(found)
    return exit_codes.FAILURE if state_of(found) == "FAILED" else exit_codes.OK


@app.command("config")
@command("as_json")
def config(
    common: CommonOptions,
    name: Name,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", "-s", metavar="NAME=VALUE", help="Setting to change; may be repeated."
        ),
    ] = None,
    unset: Annotated[
        list[str] | None,
        typer.Option("--unset", metavar="NAME", help="Setting to remove; may be repeated."),
    ] = None,
    url: Url = DEFAULT_URL,
) -> None:
    """Show the settings of a connector, or change some."""
    changes: dict[str, Any] = {**parse_pairs(settings or [], "--set")}
    changes |= dict.fromkeys(unset or [])
    client = _client(url)
    path = ("connectors", name, "config")
    if changes:
        found = client.call("PATCH", *path, body=changes)["config"]
    else:
        found = client.call("GET", *path)
    if common.as_json:
        print_json(found)
    else:
        print_config(found)


def _simple(verb: str, method: str, path: str, said: str, text: str) -> None:
    """A command that changes the state of connectors."""

    def change(
        names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Connectors.")],
        url: Url = DEFAULT_URL,
    ) -> None:
        client = _client(url)
        for name in names:
            client.call(method, "connectors", name, *filter(None, [path]))
            say(f"connector {name} {said}")

    change.__doc__ = text
    app.command(verb)(command()(change))


_simple("pause", "PUT", "pause", "is paused", "Pause connectors; resume continues them.")
_simple("resume", "PUT", "resume", "is resumed", "Continue paused or stopped connectors.")
_simple("stop", "PUT", "stop", "is stopped", "Stop connectors, so that offsets can be reset.")
_simple("restart", "POST", "restart", "is restarted", "Restart connectors, also failed ones.")
_simple("delete", "DELETE", "", "is deleted", "Delete connectors; their checkpoints stay.")


@app.command("offsets")
@command("as_json")
def offsets(
    common: CommonOptions,
    name: Name,
    reset: Annotated[
        bool, typer.Option("--reset", help="Let a stopped connector start over.")
    ] = False,
    url: Url = DEFAULT_URL,
) -> None:
    """Show how far a connector has read, or reset it."""
    client = _client(url)
    path = ("connectors", name, "offsets")
    if reset:
        say(client.call("DELETE", *path)["message"])
        return
    found = client.call("GET", *path)["offsets"]
    if common.as_json:
        print_json(found)
    else:
        rows = [(json.dumps(each["partition"]), json.dumps(each["offset"])) for each in found]
        print_table(("partition", "offset"), rows)


@app.command("plugins")
@command("as_json")
def plugins(common: CommonOptions, url: Url = DEFAULT_URL) -> None:
    """List what connector.class can be."""
    client = _client(url)
    found = client.call("GET", "connector-plugins")
    if common.as_json:
        print_json(found)
    else:
        print_table(("class", "type"), [(each["class"], each["type"]) for each in found])


@app.command("validate")
@command("as_json")
def validate(
    common: CommonOptions,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON, as for create.")],
    url: Url = DEFAULT_URL,
) -> int:
    """Check the settings of a connector without creating it; exit code 1 if some are wrong."""
    given = config_in(file)
    client = _client(url)
    plugin = given.get("connector.class", "")
    found = client.call("PUT", "connector-plugins", plugin, "config", "validate", body=given)
    if common.as_json:
        print_json(found)
    else:
        for each in found["configs"]:
            for error in each["value"]["errors"]:
                print_line(f"{each['value']['name']}: {error}")
    return exit_codes.FAILURE if found["error_count"] else exit_codes.OK
