"""Refuses flows that would mix their records with those of another flow, in one topic.

Where names are kept, two sources with the same topic would write the same topic of the target, and
no reader could tell their records apart. But every flow has left its positions in the target. Flows
that mark provenance may share topics: their records say where they come from.
"""

from barnabas.client.admin.groups import list_groups
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.group.committed_offsets import fetch_offsets_and_metadata
from barnabas.coordination.mirror_groups import MIRROR_PREFIX
from barnabas.errors import InvalidArgument
from barnabas.mirror.flow import Flow, Names
from barnabas.mirror.names import remote_topic
from barnabas.mirror.topic_plan import flows


async def check_fan_in(source: ClusterClient, target: ClusterClient, flow: Flow) -> None:
    """Raise `InvalidArgument` if another flow writes a topic that this one would write."""
    if flow.names is not Names.IDENTITY or flow.provenance:
        return
    written = {remote_topic(flow, name) for name in await source.refresh(None) if flows(flow, name)}
    for group in await list_groups(target):
        if not group.group_id.startswith(MIRROR_PREFIX) or group.group_id == flow.group_id:
            continue
        for name in await fetch_offsets_and_metadata(target, group.group_id):
            if name.topic in written:
                other = group.group_id.removeprefix(MIRROR_PREFIX)
                raise InvalidArgument(
                    f"topic {name.topic} of {flow.target.name} is written by the flow {other}: "
                    f"records of {flow.name} would be mixed with them. Use --names prefix, mark "
                    "records with --provenance in both flows, or leave the topic out. If that flow "
                    f"is over for good: barnabas groups delete '{group.group_id}' "
                    "--forget-progress"
                )
