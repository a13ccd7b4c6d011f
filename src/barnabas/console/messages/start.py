"""Where reading begins: the beginning, an offset or a time."""

from collections.abc import Iterable

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.list_offsets import EARLIEST
from barnabas.client.offsets.offset_spec import offsets_at
from barnabas.console.endpoint import Call, Parameter

FROM = Parameter(
    "from",
    "string",
    "Where to begin.",
    "newest",
    choices=("newest", "beginning", "offset", "time"),
)
START = Parameter("start", "integer", "Offset, for from=offset.", 0, minimum=0)
AT = Parameter("at", "integer", "Milliseconds since 1970, for from=time.", 0, minimum=0)


async def start_offsets(
    call: Call, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """The first offset to read in each partition."""
    names = list(partitions)
    match call.text("from"):
        case "offset":
            return dict.fromkeys(names, call.number("start"))
        case "time":
            return await offsets_at(call.cluster.client, names, call.number("at"))
        case _:
            return await offsets_at(call.cluster.client, names, EARLIEST)
