"""One request that is watched: its times, and what is logged of it.

The parts of its time have Kafka's names:

requestQueueTimeMs    from its last bytes that were read to the begin of the work on it: it waits
                      for other connections, or for earlier requests of its own connection
localTimeMs           the work on it, in one turn of the event loop
remoteTimeMs          it waits: Produce for replicas, Fetch for records, JoinGroup for members
responseQueueTimeMs   its answer waits for answers of earlier requests of the connection
sendTimeMs            until the socket has taken the answer, up to 16 kB: a slow client, or network
throttleTimeMs        after that: the client is over a quota, and nothing is read from it
"""

import logging
from typing import Any

from barnabas.broker.logs.json_format import REQUEST
from barnabas.broker.net.connection import Answer, Connection
from barnabas.broker.request_log.request_text import answer_errors
from barnabas.wire.framing import RequestHeader
from barnabas.wire.message import Request
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.join_group import JoinGroupRequest
from barnabas.wire.messages.share_fetch import ShareFetchRequest
from barnabas.wire.messages.sync_group import SyncGroupRequest

logger = logging.getLogger("barnabas.request")

_WAIT_AS_ASKED = (FetchRequest, ShareFetchRequest, JoinGroupRequest, SyncGroupRequest)
"""They wait because the client wants that, or for other clients: that is not slow."""
_MAX_NAME = 200


class LoggedRequest:
    """Times are in seconds."""

    def __init__(
        self,
        connection: Connection,
        header: RequestHeader,
        kind: type[Request[Any]],
        size: int,
        text: str | None,
    ) -> None:
        """`text` tells what it asks for; None if it is logged only if it is slow."""
        self.connection = connection
        self._header = header
        self._kind = kind
        self._size = size
        self._text = text
        self._errors = ""
        self._answer_bytes = 0
        self.has_answer = True
        self.queue_s = 0.0
        self.local_s = 0.0
        self.remote_s = 0.0
        self.response_queue_s = 0.0
        self.send_s = 0.0
        self.throttle_s = 0.0

    @property
    def is_of_interest(self) -> bool:
        """Whether it is logged in any case."""
        return self._text is not None

    @property
    def slow_s(self) -> float:
        """The time that counts as slow."""
        waited_s = 0.0 if self._kind in _WAIT_AS_ASKED else self.remote_s
        work_s = self.queue_s + self.local_s + waited_s
        return work_s + self.response_queue_s + self.send_s + self.throttle_s

    def answered(self, answer: Answer) -> None:
        self.throttle_s = self.connection.muted_s
        if answer is None:
            return
        self._answer_bytes = sum(map(len, answer))
        if self.is_of_interest:
            self._errors = answer_errors(answer, self._kind, self._header.api_version)

    def log(self, *, is_slow: bool) -> None:
        fields = self._fields()
        times = {name: value for name, value in fields.items() if name.endswith("TimeMs")}
        shown = " ".join(f"{name}={value}" for name, value in times.items())
        logger.log(
            logging.WARNING if is_slow else logging.INFO,
            "%s %s v%d of client %r, %s at %s, listener %s: %s requestBytes=%d responseBytes=%d"
            "%s%s%s",
            "slow request" if is_slow else "request",
            fields["api"],
            fields["version"],
            fields["clientId"],
            fields["principal"],
            fields["address"],
            fields["listener"],
            shown,
            self._size,
            self._answer_bytes,
            f" errors: {self._errors}" if self._errors else "",
            "" if self.has_answer else " (the client has disconnected)",
            f" {self._text}" if self._text else "",
            extra={REQUEST: fields},
        )

    def _fields(self) -> dict[str, Any]:
        times = {
            "requestQueueTimeMs": self.queue_s,
            "localTimeMs": self.local_s,
            "remoteTimeMs": self.remote_s,
            "responseQueueTimeMs": self.response_queue_s,
            "sendTimeMs": self.send_s,
        }
        fields: dict[str, Any] = {
            "api": self._kind.__name__.removesuffix("Request"),
            "version": self._header.api_version,
            "correlationId": self._header.correlation_id,
            "clientId": (self._header.client_id or "")[:_MAX_NAME],
            "principal": str(self.connection.principal)[:_MAX_NAME],
            "address": self.connection.client_host,
            "listener": self.connection.listener.name,
            "totalTimeMs": _ms(sum(times.values())),
            **{name: _ms(seconds) for name, seconds in times.items()},
            "throttleTimeMs": _ms(self.throttle_s),
            "requestBytes": self._size,
            "responseBytes": self._answer_bytes,
        }
        if self._errors:
            fields["errors"] = self._errors
        if self._text is not None:
            fields["request"] = self._text
        return fields


def _ms(seconds: float) -> float:
    return round(seconds * 1_000, 3)
