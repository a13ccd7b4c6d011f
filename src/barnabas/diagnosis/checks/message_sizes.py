"""Records that a topic allows and that can't get there."""

from collections.abc import Iterator

from barnabas.diagnosis.facts import Facts, as_number
from barnabas.diagnosis.finding import Finding, warning

_MESSAGE = "max.message.bytes"
_REQUEST = "socket.request.max.bytes"
_SEGMENT = "segment.bytes"


def above_request(facts: Facts) -> Iterator[Finding]:
    limits = [as_number(node.configs.get(_REQUEST)) for node in facts.nodes]
    known = [limit for limit in limits if limit is not None]
    if not known:
        return
    for topic in sorted(facts.topics):
        size = facts.number(topic, _MESSAGE)
        if size is not None and size > min(known):
            yield warning(
                "settings",
                f"topic {topic}: {_MESSAGE}={size} is above {_REQUEST}={min(known)} of a node, "
                "which refuses such requests",
                f"barnabas configs set topic {topic} {_MESSAGE}={min(known) - 4096}",
            )


def above_segment(facts: Facts) -> Iterator[Finding]:
    for topic in sorted(facts.topics):
        size, segment = facts.number(topic, _MESSAGE), facts.number(topic, _SEGMENT)
        if size is not None and segment is not None and size > segment:
            yield warning(
                "settings",
                f"topic {topic}: {_MESSAGE}={size} is above {_SEGMENT}={segment}, and a batch has "
                "to fit into a segment",
                f"barnabas configs set topic {topic} {_SEGMENT}={size}",
            )
