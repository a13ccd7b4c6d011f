"""`barnabas security`: certificates and the first administrator of a secured cluster."""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base.command import CommandError, CommonOptions, UsageError, command
from barnabas.cli.base.output import print_json, print_line, print_table
from barnabas.cli.base.properties import read_properties
from barnabas.cli.security.node_hosts import PROPOSED, parse_nodes, server_settings, voters_of

if TYPE_CHECKING:
    from barnabas.security.setup.certificates import CertificateFacts
    from barnabas.security.setup.cluster_files import ClusterFiles, NodeHosts

_HELP = "Make, renew and revoke certificates; make an administrator."
_VOTERS = "controller.quorum.voters"
_CRL = "ssl.crl.location"
_DEFAULT_DAYS = 365
_DATA = Path("/var/lib/barnabas")

app = typer.Typer(no_args_is_help=True, help=_HELP)

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of the CA.", show_default=False)
]
Node = Annotated[
    list[str],
    typer.Option(
        "--node",
        metavar="ID=HOST[,HOST...]",
        help="A node and the hosts in its certificate; clients and nodes connect to the first. "
        "May be repeated.",
        show_default=False,
    ),
]
Port = Annotated[int, typer.Option(metavar="N", help="Port of all nodes.", min=1, max=65535)]
InstalledAt = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Where a node's folder will be on its machine. Default: where it is made.",
        show_default=False,
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Data directory of a node on its machine. Default: /var/lib/barnabas with "
        "--installed-at, otherwise `data` in the node's folder.",
        show_default=False,
    ),
]


@app.callback()
def security() -> None:
    """Make, renew and revoke certificates; make an administrator."""


@app.command(
    "init",
    epilog="Example: barnabas security init ./security --node 1=h1 --node 2=h2 --node 3=h3",
)
@command()
def init(
    folder: Folder,
    node: Node,
    port: Port = 9092,
    installed_at: InstalledAt = None,
    data: Data = None,
) -> None:
    """Make a CA, the files of each node, and a first administrator."""
    with _files(folder) as files:
        nodes = parse_nodes(node)
        voters = voters_of(nodes, port)
        files.make(nodes, ",".join(each.partition("@")[2] for each in voters.split(",")))
        for each in nodes:
            _write_settings(files, each, port, voters, installed_at, data)
        _say_next(files, nodes, installed_at)
        print_line("When they run:")
        print_line(f"  barnabas users list --command-config {files.administrator_file}")


@app.command("add-node", epilog="Example: barnabas security add-node ./security --node 4=h4")
@command()
def add_node(
    folder: Folder,
    node: Node,
    port: Port = 9092,
    installed_at: InstalledAt = None,
    data: Data = None,
) -> None:
    """Make the files of nodes that join the cluster."""
    with _files(folder) as files:
        _check(files)
        nodes = parse_nodes(node)
        for each in nodes:
            first = files.node_folder(files.node_ids[0]) / "server.properties"
            if not first.exists():
                raise CommandError(
                    f"{folder} belongs to a local cluster, begun with `barnabas server --secure`: "
                    f"add a node with `barnabas cluster add-node --local {folder.parent}`"
                )
            voters = read_properties(first, "the settings of the first node,").get(_VOTERS, "")
            files.add(each)
            _write_settings(files, each, port, voters, installed_at, data)
        _say_next(files, nodes, installed_at)


@app.command("renew", epilog="Example: barnabas security renew ./security --days 90")
@command("as_json")
def renew(
    common: CommonOptions,
    folder: Folder,
    days: Annotated[
        int, typer.Option(metavar="N", help="How long they are valid.", min=1)
    ] = _DEFAULT_DAYS,
) -> None:
    """Make new certificates for all nodes, signed by the same CA, for the same hosts.

    A node that runs uses its new file within two seconds; open connections go on.
    """
    with _files(folder) as files:
        _check(files)
        found = _by_node(files.renew(days))
        _show(found, files.revoked(), as_json=common.as_json)


@app.command("revoke", epilog="Example: barnabas security revoke ./security --node 2")
@command()
def revoke(
    folder: Folder,
    node: Annotated[
        list[int] | None,
        typer.Option("--node", metavar="ID", help="Node whose certificate was lost or stolen."),
    ] = None,
    certificate: Annotated[
        list[Path] | None,
        typer.Option(
            "--certificate", metavar="FILE", help="PEM file with a certificate that the CA signed."
        ),
    ] = None,
) -> None:
    """Revoke certificates: add them to the revocation list of the CA, crl.pem.

    A node that runs refuses them within two seconds of having the new file, and closes the
    connections of clients that have shown one. A node whose certificate is revoked needs a new one:
    `renew`, after this.
    """
    with _files(folder) as files:
        _check(files)
        if not node and not certificate:
            raise UsageError("give what to revoke: --node ID or --certificate FILE")
        for each in files.revoke(node or [], certificate or []):
            print_line(f"revoked {each.subject}, serial {each.serial}")
        print_line(
            f"Copy {files.crl_file} to each machine, and replace the node's crl.pem with it."
        )
        for each_id in files.node_ids:
            settings = files.node_folder(each_id) / "server.properties"
            if settings.exists() and _CRL not in read_properties(settings, "the node's settings,"):
                print_line(f"Set {_CRL} to its path there in the settings of node {each_id}.")


@app.command("show", epilog="Example: barnabas security show ./security")
@command("as_json")
def show(common: CommonOptions, folder: Folder) -> None:
    """Show whose certificates there are, and when they expire."""
    with _files(folder) as files:
        _check(files)
        found = {"CA": files.authority()} | _by_node(files.certificates())
        _show(found, files.revoked(), as_json=common.as_json)


@contextmanager
def _files(folder: Path) -> "Iterator[ClusterFiles]":
    from barnabas.security.setup.cluster_files import ClusterFiles, SetupError

    try:
        yield ClusterFiles(folder)
    except SetupError as error:
        raise CommandError(str(error)) from error


def _check(files: "ClusterFiles") -> None:
    if not files.exist:
        raise CommandError(
            f"{files.folder} holds no CA; give the folder that `barnabas security init` made"
        )


def _write_settings(
    files: "ClusterFiles",
    node: "NodeHosts",
    port: int,
    voters: str,
    installed_at: Path | None,
    data: Path | None,
) -> None:
    if data is None:
        data = _DATA if installed_at is not None else files.node_folder(node.node_id) / "data"
    own = files.node_settings(node.node_id, installed_at)
    settings = server_settings(node, port, voters, data, own)
    files.write_node_settings(node.node_id, settings, PROPOSED)


def _say_next(
    files: "ClusterFiles", nodes: "Sequence[NodeHosts]", installed_at: Path | None
) -> None:
    for node in nodes:
        here = files.node_folder(node.node_id)
        target = here if installed_at is None else installed_at
        print_line(
            f"Copy the contents of {here} to {target} on {node.hosts[0]}, then run there: "
            f"barnabas server --config {target / 'server.properties'}"
        )


def _show(
    found: "Mapping[str, CertificateFacts]", revoked: Container[str], *, as_json: bool
) -> None:
    if as_json:
        print_json(
            [
                {
                    "of": name,
                    "subject": each.subject,
                    "hosts": list(each.hosts),
                    "expires": each.expires.isoformat(),
                    "days_left": each.days_left,
                    "serial": each.serial,
                    "revoked": each.serial in revoked,
                }
                for name, each in found.items()
            ]
        )
        return
    columns = ("of", "subject", "hosts", "expires", "days left", "revoked")
    rows = [
        (
            name,
            each.subject,
            ", ".join(each.hosts) or None,
            f"{each.expires:%F}",
            each.days_left,
            "yes" if each.serial in revoked else "no",
        )
        for name, each in found.items()
    ]
    print_table(columns, rows)


def _by_node(found: "Mapping[int, CertificateFacts]") -> "dict[str, CertificateFacts]":
    return {f"node {node_id}": facts for node_id, facts in found.items()}
