"""The position of a stream, as Spark stores it in the checkpoint.

    {"views": {"0": 23, "1": 40}, "views@id": {"0": 4755801206503243776, "1": -6917529027641}}

Offsets have the format of Spark's own Kafka source, so its checkpoints can be continued. Next to
the offsets of a topic are the two halves of its id, as signed numbers, under a name that no topic
can have. Code that sums up all offsets sees them as offsets that never change. If the id is not
known, as in older checkpoints, it is left out.
"""

import struct
from collections.abc import Mapping
from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import InvalidArgument
from barnabas.spark.source.positions import Offsets, json_of, offsets_of
from barnabas.wire.primitives import ZERO_UUID

Json = dict[str, dict[str, int]]

_ID = "@id"
_HALVES = struct.Struct(">qq")


class StreamPosition(NamedTuple):
    """The next offsets to be read, and the ids of their topics as far as they are known."""

    offsets: Offsets
    topic_ids: dict[str, bytes]

    def topic_id(self, topic: str) -> bytes:
        return self.topic_ids.get(topic, ZERO_UUID)

    def json(self) -> Json:
        """The JSON for Spark to store."""
        ids = {
            f"{topic}{_ID}": {str(half): number for half, number in enumerate(_HALVES.unpack(each))}
            for topic, each in sorted(self.topic_ids.items())
        }
        return json_of(self.offsets) | ids


def position_at(offsets: Offsets, topics: Mapping[TopicPartition, bytes]) -> StreamPosition:
    """These offsets, with the ids of their topics; `topics` may have more partitions."""
    ids = {each.topic: topics[each] for each in offsets}
    return StreamPosition(offsets, {name: each for name, each in ids.items() if each != ZERO_UUID})


def position_of(what: str, kept: Mapping[str, object]) -> StreamPosition:
    """Parse the JSON that Spark has stored."""
    ids = {name: halves for name, halves in kept.items() if name.endswith(_ID)}
    offsets = offsets_of(what, {name: each for name, each in kept.items() if name not in ids})
    return StreamPosition(
        offsets, {name.removesuffix(_ID): _id_of(what, each) for name, each in ids.items()}
    )


def _id_of(what: str, halves: object) -> bytes:
    try:
        return _HALVES.pack(*(halves[half] for half in ("0", "1")))  # type: ignore[index]
    except (KeyError, TypeError, struct.error):
        raise InvalidArgument(f"{what}: {halves!r} is not the id of a topic") from None
