"""Refuses flows that would copy records around in a circle.

Where names are kept, a topic does not say that it comes from the target. But a flow in the other
direction has left its positions in the source, with the id of the cluster that it reads.
"""

from barnabas.client.admin.groups import list_groups
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.group.committed_offsets import fetch_offsets_and_metadata
from barnabas.coordination.mirror_groups import MIRROR_PREFIX
from barnabas.errors import InvalidArgument
from barnabas.mirror.flow import Flow, Names
from barnabas.mirror.positions import position_of
from barnabas.mirror.topic_plan import flows


async def check_loops(source: ClusterClient, target: ClusterClient, flow: Flow) -> None:
    """Raise `InvalidArgument` if another flow copies the same topics the other way."""
    if flow.names is not Names.IDENTITY or flow.provenance:
        return
    if source.cluster_id is not None and source.cluster_id == target.cluster_id:
        raise InvalidArgument(
            f"{flow.source.name} and {flow.target.name} are the same cluster: topics can't be "
            "copied into themselves; use --names prefix"
        )
    for group in await list_groups(source):
        if not group.group_id.startswith(MIRROR_PREFIX):
            continue
        found = await fetch_offsets_and_metadata(source, group.group_id)
        for name, each in found.items():
            origin = position_of(each.offset, each.metadata).cluster_id
            if origin and origin == target.cluster_id and flows(flow, name.topic):
                other = group.group_id.removeprefix(MIRROR_PREFIX)
                raise InvalidArgument(
                    f"topic {name.topic} of {flow.source.name} is written by the flow "
                    f"{other} from {flow.target.name}: records "
                    "would be copied in a loop. Run both flows with --provenance, or with --names "
                    "prefix, or leave the topic out"
                )
