"""`barnabas mirror rights`."""

import asyncio
from typing import TYPE_CHECKING, Any

import typer

from barnabas.cli.base.command import CommonOptions, UsageError, command
from barnabas.cli.base.rights import RightsCheck, RightsCluster, RightsUser, show_rights_in
from barnabas.cli.mirror.flow_file import FlowNames, PropertyFile, read_flows
from barnabas.cli.mirror.flow_options import (
    ExcludedGroups,
    Groups,
    NamesChoice,
    NamesOption,
    Source,
    SourceConfig,
    SyncAcls,
    SyncDeletes,
    SyncQuotas,
    Target,
    TargetConfig,
    TopicNames,
    flow_of,
    group_settings,
)

if TYPE_CHECKING:
    from barnabas.client.rights.right import Right
    from barnabas.mirror.configured_flow import ConfiguredFlow
    from barnabas.mirror.flow import Flow

EPILOG = """\b
Examples:
  barnabas mirror rights --from east=a:9092 --to west=b:9092 --topics 'orders,customers.*' --user m
  barnabas mirror rights --properties mm2.properties --check
"""


@command("as_json")
def rights(
    ctx: typer.Context,
    common: CommonOptions,
    source: Source = None,
    target: Target = None,
    topics: TopicNames = None,
    properties: PropertyFile = None,
    flow_names: FlowNames = None,
    groups: Groups = None,
    exclude_groups: ExcludedGroups = None,
    names: NamesChoice = NamesOption.PREFIX,
    source_config: SourceConfig = None,
    target_config: TargetConfig = None,
    delete_topics: SyncDeletes = False,
    sync_acls: SyncAcls = False,
    sync_quotas: SyncQuotas = False,
    user: RightsUser = None,
    check: RightsCheck = False,
) -> int:
    """Print the access rules that a flow needs in both clusters, as commands.

    Give it the options of `mirror run`. No broker is needed without --check, if the clusters have
    names. Expressions become the names or prefixes that cover all that they match; rules for fewer
    topics do, so --check calls them optional.
    """
    from barnabas.mirror.configured_flow import ConfiguredFlow
    from barnabas.mirror.rights import source_rights, target_rights
    from barnabas.mirror.rights_check import with_listed

    options = {
        "sync_deletes": delete_topics,
        "sync_acls": sync_acls,
        "sync_quotas": sync_quotas,
    }
    flows: list[ConfiguredFlow]
    if properties is not None:
        found = read_flows(ctx, properties, flow_names or []).flows
        flows = [_with_options(each, options) for each in found]
    elif source is None or target is None or topics is None:
        raise UsageError("give --from, --to and --topics, or --properties FILE")
    else:
        flow = flow_of(source, target, topics, names, source_config, target_config, **options)
        flows = [ConfiguredFlow(flow, group_settings(groups, exclude_groups))]
    needed = []
    for each in flows:
        reads, writes = asyncio.run(_listed(each.flow)) if check and user is None else ([], [])
        for end, some in (
            (each.flow.source, with_listed(source_rights(each), reads)),
            (each.flow.target, with_listed(target_rights(each), writes)),
        ):
            needed.append((RightsCluster(end.bootstrap_servers, end.security, end.name), some))
    return show_rights_in(needed, user, check=check, as_json=common.as_json)


async def _listed(flow: "Flow") -> "tuple[list[Right], list[Right]]":
    """For the topics that this user sees; an administrator sees more than the mirror may copy."""
    from barnabas.mirror.rights_check import listed_rights

    async with flow.source.client() as source, flow.target.client() as target:
        return await listed_rights(flow, source, target)


def _with_options(found: "ConfiguredFlow", options: dict[str, bool]) -> "ConfiguredFlow":
    """What the file says, and what options add."""
    from dataclasses import replace

    added: dict[str, Any] = {name: True for name, is_given in options.items() if is_given}
    return replace(found, flow=replace(found.flow, **added))
