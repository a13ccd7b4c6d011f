"""`barnabas server`: run a node, or a whole cluster on this machine."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommandError, Verbose, common_options, exit_with
from barnabas.cli.base.output import say
from barnabas.cli.base.pairs import parse_pairs

EPILOG = """\b
Settings have Kafka's names. Sources, each overriding those before it: --config,
environment variables such as BARNABAS_NUM_PARTITIONS=3, --set, other options.

\b
Examples:
  barnabas server --listen localhost:9092 --data ./data --set num.partitions=3
  barnabas server --nodes 3
  barnabas server --id 2 --listen h2:9092 --voters 1@h1:9092,2@h2:9092,3@h3:9092
"""
MAX_NODES = 100
_PREFIX = "BARNABAS_"


def server(
    ctx: typer.Context,
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
    voters: Annotated[
        str | None,
        typer.Option(
            metavar="ID@HOST:PORT,...",
            help="Voters of the cluster that this node belongs to, the same on every node. Three "
            "voters tolerate the loss of one, five of two.",
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
    verbose: Verbose = False,
) -> None:
    """Run a node or a local cluster until Ctrl-C or SIGTERM."""
    options = {
        "listeners": listen,
        "advertised.listeners": advertise,
        "log.dirs": data,
        "node.id": None if node_id is None else str(node_id),
        "controller.quorum.voters": voters,
    }

    def run() -> int:
        from barnabas.broker.settings.aliases import with_aliases
        from barnabas.broker.settings.config import ConfigError
        from barnabas.broker.settings.definitions import BROKER_CONFIGS
        from barnabas.metadata.config_values import InvalidConfigError

        try:
            # Aliases are resolved in each source, so that later sources take precedence.
            properties = with_aliases(_read_properties(config) if config is not None else {})
            properties |= _from_environment(os.environ, BROKER_CONFIGS)
            properties |= with_aliases(parse_pairs(settings or [], "--set"))
            properties |= {name: value for name, value in options.items() if value is not None}
            return _run_node(properties) if nodes is None else _run_nodes(properties, nodes)
        except (ConfigError, InvalidConfigError) as error:
            raise CommandError(str(error), exit_codes.USAGE) from error

    exit_with(run, verbose=verbose or common_options(ctx).verbose)


def _run_node(properties: Mapping[str, str]) -> int:
    from barnabas.broker.quorum.configured_voters import configured_voters
    from barnabas.broker.server import run
    from barnabas.broker.settings.config import BrokerConfig
    from barnabas.cli.server.local_nodes import check_single_directory

    configured_voters(BrokerConfig(properties))
    check_single_directory(properties)
    return run(properties)


def _run_nodes(properties: Mapping[str, str], count: int) -> int:
    from barnabas.cli.server.local_nodes import check_ports, make_secret, plan_nodes
    from barnabas.cli.server.supervisor import supervise

    planned = plan_nodes(properties, count)
    check_ports(planned)
    if "cluster.secret.file" not in properties:
        make_secret(planned)
    return supervise(planned)


def _read_properties(path: Path) -> dict[str, str]:
    """Read a Java properties file: NAME=VALUE or NAME: VALUE, comments with # or !.

    Line continuations and escapes are left out: no setting of a broker needs them.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"--config {path}: {error}", exit_codes.USAGE) from error
    properties = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text[0] in "#!":
            continue
        separator = min((each for each in "=:" if each in text), key=text.index, default=None)
        if separator is None:
            raise CommandError(
                f"{path}, line {number}: expected NAME=VALUE, found {text!r}", exit_codes.USAGE
            )
        name, _, value = text.partition(separator)
        properties[name.strip()] = value.strip()
    return properties


def _from_environment(
    environment: Mapping[str, str], known: Mapping[str, object]
) -> dict[str, str]:
    """Settings from variables like BARNABAS_LOG_DIRS; one that names no setting is reported."""
    from barnabas.metadata.config_values import did_you_mean

    properties = {}
    for variable, value in environment.items():
        if not variable.startswith(_PREFIX) or variable == "BARNABAS_BOOTSTRAP":
            continue
        name = variable.removeprefix(_PREFIX).lower().replace("_", ".")
        if name in known:
            properties[name] = value
        else:
            hint = did_you_mean(name, known)
            say(f"warning: ignored {variable}: there is no setting {name!r}{hint}")
    return properties
