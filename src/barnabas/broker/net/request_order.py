"""Which requests of one connection may be handled concurrently.

A client's requests take effect in the order sent, and later reads see earlier writes. So a request
waits until those before it are answered, as in Kafka, with two exceptions:

- Produce requests overlap. Each is appended when its turn comes; what they wait for together is
  the replicas, so a pipeline of them takes as long as one.
- Requests of other nodes overlap, as they are independent. Nodes forward the requests of many
  clients over one connection; the order is kept on the clients' connections. And a follower sends
  a second fetch so that its first one is answered. A client that claims to be a node loses only
  the order of its requests, not that of others.
"""

from enum import IntEnum
from typing import Final

from barnabas.wire.messages.produce import ProduceRequest
from barnabas.wire.primitives import Buffer

PEER_CLIENT_ID: Final = "barnabas-node-"
"""The prefix of the client ids of nodes."""

_PEER = PEER_CLIENT_ID.encode()
_CLIENT_ID_AT = 10  # behind api_key, api_version, correlation_id and the client id's own length
_CLIENT_ID_END = _CLIENT_ID_AT + len(_PEER)
_PRODUCE = ProduceRequest.API_KEY


class RequestKind(IntEnum):
    """The kinds of requests that ordering distinguishes."""

    ORDINARY = 0
    PRODUCE = 1
    PEER = 2


def kind_of(frame: Buffer) -> RequestKind:
    """The kind of a request, read from its header; a malformed one counts as ordinary."""
    if len(frame) > 1 and frame[0] << 8 | frame[1] == _PRODUCE:
        return RequestKind.PRODUCE
    if frame[_CLIENT_ID_AT:_CLIENT_ID_END] == _PEER:
        return RequestKind.PEER
    return RequestKind.ORDINARY


def may_overlap(under_way: RequestKind, following: RequestKind) -> bool:
    """Whether a request may begin while those before it, all of one kind, are unanswered."""
    return under_way is following and following is not RequestKind.ORDINARY
