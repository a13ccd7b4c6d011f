"""`barnabas server`: run a node, or a whole cluster on this machine."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.client_security import BOOTSTRAP_VARIABLE, CONFIG_VARIABLE
from barnabas.cli.base.command import CommandError, command
from barnabas.cli.base.output import say
from barnabas.cli.base.pairs import parse_pairs
from barnabas.cli.base.properties import read_properties

if TYPE_CHECKING:
    from barnabas.cli.server.companions import Companions
    from barnabas.cli.server.secure import SecuredData

EPILOG = """\b
Settings have Kafka's names. Sources, each overriding those before it: --config,
environment variables such as BARNABAS_NUM_PARTITIONS=3, --set, other options.

\b
Examples:
  barnabas server --listen localhost:9092 --data ./data --set num.partitions=3
  barnabas server --nodes 3
  barnabas server --nodes 3 --secure
  barnabas server --nodes 3 --console --registry
  barnabas server --config server.properties --check
  barnabas server --id 2 --listen h2:9092 --voters 1@h1:9092,2@h2:9092,3@h3:9092
"""
MAX_NODES = 100
_PREFIX = "BARNABAS_"
_CONSOLE_PORT = 8080
_REGISTRY_PORT = 8081
_OF_COMMANDS = (BOOTSTRAP_VARIABLE, CONFIG_VARIABLE)


@command()
def server(
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Address to listen on; port 0 takes a free port. Default: localhost:9092.",
            show_default=False,
        ),
    ] = None,
    advertise: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Address that clients connect to. Default: the --listen address.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Data directory. Default: ./barnabas-data.", show_default=False
        ),
    ] = None,
    node_id: Annotated[
        int | None,
        typer.Option("--id", metavar="N", help="Node id. Default: 1.", show_default=False, min=0),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Run a cluster of N nodes on this machine, one process each, on ports from that "
            "of --listen upward; data in DIR/node-1, node-2, ...",
            show_default=False,
            min=1,
            max=MAX_NODES,
        ),
    ] = None,
    secure: Annotated[
        bool,
        typer.Option(
            "--secure",
            help="TLS, users with passwords, and access rules. The first start makes a private "
            "CA, certificates and an administrator, in DIR/security.",
        ),
    ] = False,
    voters: Annotated[
        str | None,
        typer.Option(
            metavar="ID@HOST:PORT,...",
            help="Voters of the cluster that this node belongs to, the same on every node. Three "
            "voters tolerate the loss of one, five of two.",
            show_default=False,
        ),
    ] = None,
    console: Annotated[
        bool,
        typer.Option("--console", help="Start the web console too, at http://localhost:8080/."),
    ] = False,
    console_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65_535,
            metavar="PORT",
            help="Start the web console on another port of localhost; 0 chooses a free one.",
            show_default=False,
        ),
    ] = None,
    registry: Annotated[
        bool,
        typer.Option("--registry", help="Start a schema registry too, at http://localhost:8081/."),
    ] = False,
    registry_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65_535,
            metavar="PORT",
            help="Start a schema registry on another port of localhost; 0 chooses a free one.",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Properties file with settings.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", "-o", metavar="NAME=VALUE", help="Setting; may be repeated."),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Check the settings and exit: print those without effect, and those that are "
            "refused.",
        ),
    ] = False,
) -> int:
    """Run a node or a local cluster until Ctrl-C or SIGTERM."""
    options = {
        "listeners": listen,
        "advertised.listeners": advertise,
        "log.dirs": data,
        "node.id": None if node_id is None else str(node_id),
        "controller.quorum.voters": voters,
    }

    from barnabas.broker.settings.aliases import with_aliases
    from barnabas.broker.settings.config import ConfigError
    from barnabas.broker.settings.definitions import BROKER_CONFIGS
    from barnabas.cli.server.companions import Companions
    from barnabas.metadata.config_values import InvalidConfigError

    try:
        # Aliases are resolved in each source, so that later sources take precedence.
        in_file = {} if config is None else read_properties(config, "--config")
        properties = with_aliases(in_file)
        properties |= _from_environment(os.environ, BROKER_CONFIGS)
        properties |= with_aliases(parse_pairs(settings or [], "--set"))
        properties |= {name: value for name, value in options.items() if value is not None}
        if check:
            from barnabas.cli.server.check import check_settings

            return check_settings(properties, nodes, secure=secure)
        wanted = Companions(
            _CONSOLE_PORT if console and console_port is None else console_port,
            _REGISTRY_PORT if registry and registry_port is None else registry_port,
        )
        if nodes is None:
            return _run_node(properties, secure=secure, wanted=wanted)
        return _run_nodes(properties, nodes, secure=secure, wanted=wanted)
    except (ConfigError, InvalidConfigError) as error:
        raise CommandError(str(error), exit_codes.USAGE) from error


def _run_node(properties: dict[str, str], *, secure: bool, wanted: "Companions") -> int:
    from barnabas.broker.quorum.configured_voters import configured_voters
    from barnabas.broker.server import run
    from barnabas.broker.settings.config import BrokerConfig
    from barnabas.cli.server.companions import servers_of, with_companions
    from barnabas.cli.server.local_nodes import check_not_secured, check_single_directory

    administrator = None
    if secure:
        secured = _secured_data(properties)
        secured.check(properties, is_alone=True)
        properties = secured.prepare(properties, 1)
        address = properties.get("advertised.listeners", properties["listeners"])
        say(secured.how_to_connect(address.partition("://")[2]))
        administrator = secured.files.administrator_file
        if not address.endswith(":0"):
            secured.name_servers(servers_of(properties))
    else:
        check_not_secured(properties)
    configured_voters(BrokerConfig(properties))
    check_single_directory(properties)
    servers = servers_of(properties) if wanted.any else None
    with with_companions(servers, wanted, administrator):
        return run(properties)


def _run_nodes(
    properties: dict[str, str], count: int, *, secure: bool, wanted: "Companions"
) -> int:
    from barnabas.broker.runtime.container_limits import container_limits
    from barnabas.broker.server import fit_container
    from barnabas.cli.server.companions import with_companions
    from barnabas.cli.server.local_nodes import (
        check_not_secured,
        check_ports,
        data_directory,
        make_secret,
        plan_nodes,
    )
    from barnabas.cli.server.local_voters import choose_voters
    from barnabas.cli.server.supervisor import supervise

    if count > 1:  # each node alone would take the whole container for its own
        properties, sizing = fit_container(properties, container_limits(), count)
        if sizing is not None:
            say(sizing)
    if secure:
        secured = _secured_data(properties)
        planned = secured.secured(plan_nodes(secured.prepare(properties, count), count))
        check_ports(planned)
        choose_voters(data_directory(properties), count)
        servers = ",".join(str(node.address) for node in planned)
        secured.name_servers(servers)
        with with_companions(servers, wanted, secured.files.administrator_file):
            return supervise(planned, secured.how_to_connect, secured.secured_later)
    check_not_secured(properties)
    planned = plan_nodes(properties, count)
    check_ports(planned)
    choose_voters(data_directory(properties), count)
    if "cluster.secret.file" not in properties:
        make_secret(planned)
    servers = ",".join(str(node.address) for node in planned)
    with with_companions(servers, wanted):
        return supervise(planned)


def _secured_data(properties: Mapping[str, str]) -> "SecuredData":
    from barnabas.cli.server.secure import SecuredData

    return SecuredData(properties)


def _from_environment(
    environment: Mapping[str, str], known: Mapping[str, object]
) -> dict[str, str]:
    """Settings from variables like BARNABAS_LOG_DIRS; one that names no setting is reported."""
    from barnabas.client.connect.security_settings import SECURITY_SETTINGS
    from barnabas.metadata.config_values import did_you_mean

    properties = {}
    for variable, value in environment.items():
        if not variable.startswith(_PREFIX) or variable in _OF_COMMANDS:
            continue
        name = variable.removeprefix(_PREFIX).lower().replace("_", ".")
        if name in known:
            properties[name] = value
        elif name not in SECURITY_SETTINGS:  # those are of commands that connect
            hint = did_you_mean(name, known)
            say(f"warning: ignored {variable}: there is no setting {name!r}{hint}")
    return properties
