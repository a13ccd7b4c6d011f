"""The flow in the other direction, as far as this one has to know it."""

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.mirror.flow import Flow, Names
from barnabas.mirror.formats.internal_topics import offset_syncs_topic
from barnabas.mirror.groups.stored_syncs import restore
from barnabas.mirror.groups.topic_records import TopicReader
from barnabas.mirror.offsets.translations import Translations


class BackwardRoute:
    """What the flow in the other direction has stored in this flow's source."""

    def __init__(self, flow: Flow, source: ClusterClient) -> None:
        self.flow = flow
        self.translations = Translations()
        self._reader = TopicReader(source, offset_syncs_topic(flow.source.name))

    async def refresh(self) -> None:
        restore(self.flow, await self._reader.read_new(), self.translations)


def backward_flow(flow: Flow) -> Flow | None:
    """The flow in the other direction; None if its records can't be told from others."""
    if flow.names is Names.IDENTITY and not flow.provenance:
        return None
    return Flow(
        source=flow.target,
        target=flow.source,
        names=flow.names,
        separator=flow.separator,
        provenance=flow.provenance,
    )
