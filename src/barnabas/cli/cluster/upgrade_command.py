"""The options of `barnabas cluster upgrade` and `features`, and what they print."""

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base.command import CommandError, Session, cluster_command
from barnabas.cli.base.output import print_json, print_table, say

if TYPE_CHECKING:
    from barnabas.client.admin.features import ClusterFeatures

EPILOG = "Example: barnabas cluster upgrade --plan"
FEATURES_EPILOG = "Example: barnabas cluster features"


@cluster_command
async def upgrade(
    session: Session,
    to: Annotated[
        int | None,
        typer.Option(
            "--to", metavar="LEVEL", min=1, help="Default: the newest that all nodes support."
        ),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only show what nodes support and what would change.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Raise metadata.version once all nodes are new.

    Install the new release on one node after the other first. Until the level is raised, nodes can
    go back to the release before; afterwards they can not.
    """
    from barnabas.client.admin.features import METADATA_VERSION, describe_features, raise_feature
    from barnabas.diagnosis.collect.nodes import node_facts

    async with session.connect() as cluster:
        found = await describe_features(cluster)
        releases = {each.node_id: each.version for each in await node_facts(cluster)}
        level = found.levels.get(METADATA_VERSION)
        if level is None:
            raise CommandError(
                "the controller runs a release without levels: install the new release on "
                "all nodes first"
            )
        if not session.as_json:
            _print_nodes(found, releases)
        wanted = to or _newest(found, level)
        if wanted > level:
            await raise_feature(cluster, METADATA_VERSION, wanted, validate_only=True)
            if not plan:
                if not yes:
                    _confirm(level, wanted)
                await raise_feature(cluster, METADATA_VERSION, wanted)
    is_raised = wanted > level and not plan
    if session.as_json:
        print_json(
            {
                "level": wanted if is_raised else level,
                "before": level,
                "wanted": wanted,
                "nodes": _nodes_as_json(found, releases),
            }
        )
    elif wanted < level:
        raise CommandError(f"{METADATA_VERSION} is {level} and is never lowered")
    elif wanted == level:
        say(f"{METADATA_VERSION} is {level}: nothing to raise")
    elif plan:
        say(f"{METADATA_VERSION} would be raised from {level} to {wanted}")
    else:
        say(f"raised {METADATA_VERSION} from {level} to {wanted}")


@cluster_command
async def features(session: Session) -> None:
    """Show the levels of features."""
    from barnabas.client.admin.features import describe_features

    async with session.connect() as cluster:
        found = await describe_features(cluster)
    names = sorted({*found.levels, *(name for each in found.nodes.values() for name in each or ())})
    if session.as_json:
        print_json(
            [
                {
                    "feature": name,
                    "level": found.levels.get(name, 0),
                    "supported": found.supported_by_all(name),
                }
                for name in names
            ]
        )
        return
    print_table(
        ("feature", "level", "supported by all nodes"),
        [
            (name, found.levels.get(name, 0), str(found.supported_by_all(name) or "-"))
            for name in names
        ],
    )


def _newest(found: "ClusterFeatures", level: int) -> int:
    from barnabas.client.admin.features import METADATA_VERSION

    missing = sorted(node_id for node_id, each in found.nodes.items() if each is None)
    if missing:
        raise CommandError(
            f"node {missing[0]} does not answer: start it, or remove it with `barnabas cluster "
            f"remove-node {missing[0]}`"
        )
    supported = found.supported_by_all(METADATA_VERSION)
    return level if supported is None else max(level, supported.newest)


def _confirm(level: int, wanted: int) -> None:
    typer.confirm(
        f"Nodes can't go back to releases that do not support metadata.version {wanted}. "
        f"Raise it from {level}?",
        abort=True,
        err=True,
    )


def _print_nodes(found: "ClusterFeatures", releases: dict[int, str | None]) -> None:
    from barnabas.client.admin.features import METADATA_VERSION

    rows = []
    for node_id, each in sorted(found.nodes.items()):
        supported = "no answer" if each is None else str(each.get(METADATA_VERSION, "-"))
        rows.append((node_id, releases.get(node_id) or "-", supported))
    print_table(("node", "release", METADATA_VERSION), rows)


def _nodes_as_json(
    found: "ClusterFeatures", releases: dict[int, str | None]
) -> list[dict[str, object]]:
    return [
        {"node": node_id, "release": releases.get(node_id), "supported": each}
        for node_id, each in sorted(found.nodes.items())
    ]
