"""A client that costs next to nothing: prebuilt frames over a plain socket.

What librdkafka does to gather, wait and retry stays out of the picture, and so does most of the
client's own use of the machine.
"""

import socket
import time
from struct import Struct
from types import TracebackType
from typing import Self

from barnabas.records.encode import encode_batch
from barnabas.records.record import Record
from barnabas.wire.framing import encode_request
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

PRODUCE_VERSION = 7
"""The newest version that the bare broker knows too."""

_INT32 = Struct(">i")
_ERROR_AT = Struct(">h")


def produce_frame(topic: str, value: bytes, partition: int = 0, acks: int = 1) -> bytes:
    """A whole request with one record. It can be sent any number of times."""
    now_ms = time.time_ns() // 1_000_000
    return frame_of_batch(topic, encode_batch([Record(now_ms, None, value)]), partition, acks)


def frame_of_batch(
    topic: str, batch: bytes | bytearray, partition: int = 0, acks: int = 1
) -> bytes:
    """The same with a batch."""
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(partition, batch)])
    request = ProduceRequest(None, acks, 30_000, [data])
    return b"".join(encode_request(request, PRODUCE_VERSION, 1, "bench"))


class RawConnection:
    """A blocking socket that counts answers."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._socket.close()

    def send(self, frames: bytes) -> None:
        self._socket.sendall(frames)

    def receive(self) -> list[bytes]:
        """At least one answer, without its length."""
        frames: list[bytes] = []
        while not frames:
            received = self._socket.recv(1 << 18)
            if not received:
                raise ConnectionError("the broker closed the connection")
            data = self._rest + received if self._rest else received
            at = 0
            while len(data) - at >= 4:
                stop = at + 4 + _INT32.unpack_from(data, at)[0]
                if stop > len(data):
                    break
                frames.append(data[at + 4 : stop])
                at = stop
            self._rest = data[at:]
        return frames

    def ask(self, frame: bytes) -> bytes:
        """One request, one answer."""
        self.send(frame)
        (answer,) = self.receive()
        return answer


def check_produced(answer: bytes, topic: str) -> None:
    """Raise unless the one partition of a Produce answer is free of errors."""
    # correlation_id, number of topics, name, number of partitions, partition
    at = 4 + 4 + 2 + len(topic.encode()) + 4 + 4
    (error_code,) = _ERROR_AT.unpack_from(answer, at)
    if error_code:
        raise RuntimeError(f"the broker answered a produce with error {error_code}")
