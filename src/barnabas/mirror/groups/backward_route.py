"""The flow in the other direction, as far as this one has to know it."""

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.list_offsets import LATEST, list_offsets
from barnabas.errors import UnknownTopic
from barnabas.mirror.flow import Flow, Names
from barnabas.mirror.groups.stored_syncs import restore
from barnabas.mirror.groups.topic_records import TopicReader
from barnabas.mirror.names import syncs_topic_of, upstream_topic
from barnabas.mirror.offsets.translations import Translations
from barnabas.mirror.positions import fetch_positions


class BackwardRoute:
    """What the flow in the other direction has stored in this flow's source."""

    def __init__(self, flow: Flow, source: ClusterClient) -> None:
        self.flow = flow
        self.translations = Translations()
        self._source = source
        self._reader = TopicReader(source, syncs_topic_of(flow))

    async def refresh(self) -> None:
        restore(self.flow, await self._reader.read_new(), self.translations)
        await self._look_at_ends()

    async def _look_at_ends(self) -> None:
        """First the positions, then the ends, of all records: some may be about to be committed.

        Without it, a group would go back to the last record that was copied, although all that
        followed has come from where the group was.
        """
        positions = await fetch_positions(self._source, self.flow)
        try:
            ends = await list_offsets(self._source, dict.fromkeys(positions, LATEST))
        except UnknownTopic:
            return  # it was deleted; groups repeat more until its position expires
        for there, position in positions.items():
            topic = upstream_topic(self.flow, there.topic)
            if topic is not None:
                here = TopicPartition(topic, there.partition)
                self.translations.copied(here, there, position.offset, ends[there].offset)


def backward_flow(flow: Flow) -> Flow | None:
    """The flow in the other direction; None if its records can't be told from others."""
    if flow.names is Names.IDENTITY and not flow.provenance:
        return None
    return Flow(
        source=flow.target,
        target=flow.source,
        names=flow.names,
        separator=flow.separator,
        separates_internal=flow.separates_internal,
        provenance=flow.provenance,
    )
