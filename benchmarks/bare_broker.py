"""The floor that the broker is measured against: a throw-away broker that does next to nothing.

    python bare_broker.py DIRECTORY [PARTITIONS]

It prints `ready on HOST:PORT`, and serves one node and any topic name asked for, always the same
partitions, with as little Python as a broker can do: a uvloop `BufferedProtocol` that parses in
place, checks the CRC, patches the base offset into the received buffer, writes that buffer to the
partition's file, and answers fetches with `os.pread` and `writelines`, waiting for the next append
when there is nothing yet.

Left out, which is the point: everything else. It knows ApiVersions 0, Metadata 1, Produce 3-7
and Fetch 4, the fields it needs of them and no errors, keeps its index in memory, and believes
every length. It imports nothing of Barnabas, so that it stays where it is when Barnabas moves.
"""

import asyncio
import os
import sys
from bisect import bisect_right
from struct import Struct
from typing import cast

import uvloop
from crc32c import crc32c

PRODUCE, FETCH, METADATA, API_VERSIONS = 0, 1, 3, 18
SERVED = ((PRODUCE, 3, 7), (FETCH, 4, 4), (METADATA, 0, 1), (API_VERSIONS, 0, 0))
UNSUPPORTED_VERSION = 35

_INT16, _INT32, _INT64 = Struct(">h"), Struct(">i"), Struct(">q")
_HEADER = Struct(">hhih")  # api_key, api_version, correlation_id, length of client_id
_FETCH = Struct(">iiiib")  # replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level
_FETCH_PARTITION = Struct(">iqi")  # partition, fetch_offset, max_bytes
_BATCH = Struct(">8xi5xI2xi")  # length, crc, last_offset_delta
_PRODUCED = Struct(">ihqqq")  # partition, error, base_offset, log_append_time, log_start_offset
_FETCHED = Struct(">ihqqii")  # partition, error, high_watermark, last_stable, aborted, size

_BUFFER_BYTES = 4 << 20
_ROOM_BYTES = 2 << 20


class Partition:
    """A file, and where each batch in it starts."""

    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        self.end_offset = 0
        self.size = 0
        self.offsets: list[int] = []
        self.positions: list[int] = []
        self.waiting: list[Connection] = []

    def append(self, batch: memoryview) -> int:
        length, crc, last_offset_delta = _BATCH.unpack_from(batch)
        if len(batch) != length + 12 or crc32c(batch[21:]) != crc:
            raise ValueError("a corrupt batch")
        base_offset = self.end_offset
        _INT64.pack_into(batch, 0, base_offset)
        os.write(self.fd, batch)
        self.offsets.append(base_offset)
        self.positions.append(self.size)
        self.size += len(batch)
        self.end_offset = base_offset + last_offset_delta + 1
        return base_offset

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one with `offset` on, at least one."""
        if offset >= self.end_offset:
            return b""
        first = bisect_right(self.offsets, offset) - 1
        start = stop = self.positions[first]
        if self.size - start <= max_bytes:
            stop = self.size
        else:
            last = bisect_right(self.positions, start + max_bytes) - 1
            stop = self.positions[max(last, first + 1)]
        return os.pread(self.fd, stop - start, start)


class Connection(asyncio.BufferedProtocol):
    """One client; requests are answered in their order."""

    def __init__(self, partitions: list[Partition], address: tuple[str, int]) -> None:
        self.partitions = partitions
        self.address = address
        self.buffer = bytearray(_BUFFER_BYTES)
        self.view = memoryview(self.buffer)
        self.start = self.end = 0
        self.parked: tuple[bytes, memoryview] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        if self.start == self.end:
            self.start = self.end = 0
        elif _BUFFER_BYTES - self.end < _ROOM_BYTES:
            rest = self.buffer[self.start : self.end]
            self.start, self.end = 0, len(rest)
            self.buffer[: self.end] = rest
        return self.view[self.end :]

    def buffer_updated(self, nbytes: int) -> None:
        self.end += nbytes
        while self.end - self.start >= 4:
            stop = self.start + 4 + _INT32.unpack_from(self.buffer, self.start)[0]
            if stop > self.end:
                break
            frame = self.view[self.start + 4 : stop]
            self.start = stop
            self.handle(frame)

    def handle(self, frame: memoryview) -> None:
        api_key, version, correlation_id, client_id_length = _HEADER.unpack_from(frame)
        correlation = _INT32.pack(correlation_id)
        body = frame[10 + max(client_id_length, 0) :]
        if api_key == PRODUCE:
            self.send(correlation, self.produce(body, version))
        elif api_key == FETCH:
            self.fetch(correlation, body)
        elif api_key == METADATA:
            self.send(correlation, self.metadata(body))
        else:
            error = UNSUPPORTED_VERSION if version > 0 else 0
            apis = b"".join(Struct(">hhh").pack(*api) for api in SERVED)
            self.send(correlation, _INT16.pack(error) + _INT32.pack(len(SERVED)) + apis)

    def send(self, correlation: bytes, *parts: bytes) -> None:
        size = _INT32.pack(4 + sum(map(len, parts)))
        self.transport.writelines((size, correlation, *parts))

    def produce(self, body: memoryview, version: int) -> bytes:
        at = 2 + max(_INT16.unpack_from(body)[0], 0) + 6  # transactional_id, acks, timeout_ms
        answer = bytearray(body[at : at + 4])
        for _ in range(_INT32.unpack_from(body, at)[0]):
            at, name_at = at + 4, at + 4
            at += 2 + _INT16.unpack_from(body, at)[0]
            answer += body[name_at : at + 4]  # the topic's name and the number of partitions
            count = _INT32.unpack_from(body, at)[0]
            at += 4
            for _ in range(count):
                index, size = Struct(">ii").unpack_from(body, at)
                at += 8
                partition = self.partitions[index]
                base_offset = partition.append(body[at : at + size])
                at += size
                answer += _PRODUCED.pack(index, 0, base_offset, -1, 0)[: 30 if version > 4 else 22]
                if partition.waiting:
                    waiting, partition.waiting = partition.waiting, []
                    for connection in waiting:
                        connection.fetch_parked()
            at -= 4
        return bytes(answer) + b"\0\0\0\0"  # throttle_time_ms

    def fetch(self, correlation: bytes, body: memoryview, *, last_chance: bool = False) -> None:
        _, max_wait_ms, _, max_bytes, _ = _FETCH.unpack_from(body)
        at = _FETCH.size
        parts: list[bytes] = [b"\0\0\0\0", bytes(body[at : at + 4])]  # throttle_time_ms
        asked: list[Partition] = []
        left = max_bytes
        topics = _INT32.unpack_from(body, at)[0]
        at += 4
        for _ in range(topics):
            name_at = at
            at += 2 + _INT16.unpack_from(body, at)[0]
            parts.append(bytes(body[name_at : at + 4]))
            count = _INT32.unpack_from(body, at)[0]
            at += 4
            for _ in range(count):
                index, offset, partition_max_bytes = _FETCH_PARTITION.unpack_from(body, at)
                at += _FETCH_PARTITION.size
                partition = self.partitions[index]
                asked.append(partition)
                data = partition.read(offset, min(partition_max_bytes, left)) if left > 0 else b""
                left -= len(data)
                end = partition.end_offset
                parts += (_FETCHED.pack(index, 0, end, end, -1, len(data)), data)
        if left < max_bytes or last_chance:
            self.send(correlation, *parts)
            return
        self.parked = (correlation, memoryview(bytes(body)))
        for partition in asked:
            partition.waiting.append(self)
        loop = asyncio.get_running_loop()
        self.timer = loop.call_later(max_wait_ms / 1000, self.fetch_parked)

    def fetch_parked(self) -> None:
        """The wait of a parked fetch is over."""
        if self.parked is None or self.timer is None or self.transport.is_closing():
            return
        self.timer.cancel()
        (correlation, body), self.parked = self.parked, None
        self.fetch(correlation, body, last_chance=True)

    def metadata(self, body: memoryview) -> bytes:
        host, port = self.address
        count = max(_INT32.unpack_from(body)[0], 0)
        answer = bytearray(b"\0\0\0\1\0\0\0\1" + _INT16.pack(len(host)) + host.encode())
        answer += _INT32.pack(port) + b"\xff\xff" + b"\0\0\0\1" + _INT32.pack(count)
        at = 4
        for _ in range(count):
            stop = at + 2 + _INT16.unpack_from(body, at)[0]
            answer += b"\0\0" + body[at:stop] + b"\0" + _INT32.pack(len(self.partitions))
            for index in range(len(self.partitions)):  # node 1 leads each and is its only replica
                answer += Struct(">hiiiiii").pack(0, index, 1, 1, 1, 1, 1)
            at = stop
        return bytes(answer)


async def serve(directory: str, partition_count: int) -> None:
    partitions = [Partition(f"{directory}/{index}.log") for index in range(partition_count)]
    address = ("127.0.0.1", 0)
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(partitions, address), *address
    )
    address = ("127.0.0.1", server.sockets[0].getsockname()[1])
    print(f"ready on {address[0]}:{address[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1))
