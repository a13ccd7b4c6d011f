"""Searches, downloads and pages hold few records, however many and large they are."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import barnabas
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.console.messages import newest as newest_module
from barnabas.console.messages import ranges as ranges_module
from barnabas.console.messages import search as search_module
from barnabas.console.messages.backwards import Backwards
from barnabas.console.messages.masking import Masks
from barnabas.console.messages.newest import newest
from barnabas.console.messages.positions import bounds_of
from barnabas.console.messages.ranges import Found, Piece, RangeReader, open_answer
from barnabas.console.messages.search import Progress, search
from barnabas.console.messages.view import View
from barnabas.console.schemas.decoding import Schemas
from barnabas.console.user_cluster import UserCluster
from barnabas.errors import InvalidArgument
from barnabas.records.compression import Compression
from barnabas.records.encode import encode_batch
from barnabas.records.message import Message
from barnabas.records.record import Record
from barnabas.wire.messages.fetch import PartitionData

TOPIC = "large"
RECORDS, VALUE = 60, 20_000
VIEW = View(Masks(()), Schemas(None))


class Numbers(RangeReader):
    """Records without a broker, so many in a piece; remembers what was read."""

    def __init__(self, sizes: list[int], piece: int) -> None:
        self.sizes, self.piece = sizes, piece
        self.read_offsets = 0

    async def read_piece(self, start: int, stop: int) -> Piece:
        end = min(start + self.piece, stop)
        self.read_offsets += end - start
        messages = (Message("t", 0, at, 0, None, b"x" * self.sizes[at]) for at in range(start, end))
        return Piece([Found(each, None) for each in messages], end)


@pytest.mark.parametrize("sizes", [[10] * 500, [50_000] * 50, [10] * 300 + [50_000] * 30, [10**6]])
def test_windows_from_the_end_hold_few_bytes(sizes: list[int]) -> None:
    reader = Numbers(sizes, 3)
    backwards = Backwards(reader, 0, len(sizes), window=16, budget=100_000)
    seen: list[int] = []

    async def read() -> None:
        while not backwards.is_done:
            found = await backwards.step()
            assert (
                len(found) == 1 or sum(len(each.message.value or b"") for each in found) <= 100_000
            )
            seen.extend(each.message.offset for each in reversed(found))

    asyncio.run(read())
    assert seen == list(range(len(sizes)))[::-1]
    assert reader.read_offsets < 4 * len(sizes) + 100


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with barnabas.Cluster() as cluster:
        with barnabas.Admin(cluster.bootstrap_servers) as admin:
            admin.create_topic(TOPIC, partitions=2)
        with barnabas.Producer(cluster.bootstrap_servers, batch_bytes=VALUE) as producer:
            for n in range(RECORDS):
                producer.send(TOPIC, b"%d" % n * 10_000, partition=n % 2, timestamp_ms=n + 1)
        yield cluster.bootstrap_servers


def ask(servers: str, question: Any) -> Any:
    async def run() -> Any:
        cluster = UserCluster(servers, {})
        try:
            await cluster.client.refresh([])
            return await question(cluster, await bounds_of(cluster.client, TOPIC))
        finally:
            await cluster.close()

    return asyncio.run(run())


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_search_yields_pieces_and_stops_at_its_limit(
    servers: str, monkeypatch: pytest.MonkeyPatch, *, newest_first: bool
) -> None:
    monkeypatch.setattr(search_module, "_FETCH_BYTES", 50_000)
    monkeypatch.setattr(search_module, "_KEPT_BYTES", 100_000)
    read: list[int] = []
    actual = RangeReader.read_piece

    async def counted(self: RangeReader, start: int, stop: int) -> Piece:
        piece = await actual(self, start, stop)
        read.append(len(piece.records))
        return piece

    monkeypatch.setattr(RangeReader, "read_piece", counted)

    async def look(cluster: UserCluster, bounds: Any, limit: int) -> list[list[Found]]:
        how = {"limit": limit, "newest_first": newest_first}
        progress = Progress()
        found = search(cluster, bounds, lambda _: True, VIEW, progress, **how)
        pieces = [each async for each in found]
        if limit > RECORDS:
            assert (progress.scanned, progress.total) == (RECORDS, RECORDS)
        return pieces

    pieces = ask(servers, lambda cluster, bounds: look(cluster, bounds, RECORDS + 1))
    assert sum(map(len, pieces)) == RECORDS
    assert max(map(len, pieces)) <= 10
    for partition in (0, 1):
        every = [each.message for piece in pieces for each in piece]
        offsets = [each.offset for each in every if each.partition == partition]
        assert offsets == sorted(range(RECORDS // 2), reverse=newest_first)
    read.clear()
    pieces = ask(servers, lambda cluster, bounds: look(cluster, bounds, 3))
    assert sum(map(len, pieces)) == 3
    assert sum(read) < RECORDS


def test_a_page_of_large_records_is_shorter(servers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newest_module, "MAX_BYTES", 200_000)
    times: list[int] = []
    before: dict[TopicPartition, int] | None = None
    while before != {}:
        page = ask(servers, lambda cluster, bounds, at=before: newest(cluster, bounds, at, RECORDS))
        assert 1 <= len(page.records) <= 12
        times += [each.message.timestamp_ms for each in page.records]
        before = page.older
    assert times == list(range(RECORDS, 0, -1))


def answer(*values: bytes, count: int, codec: Compression = Compression.ZSTD) -> PartitionData:
    """What a broker sends: batches of so many equal records."""
    batches, at = [], 0
    for value in values:
        records = [Record(0, None, value, (), at + n) for n in range(count)]
        batches.append(bytes(encode_batch(records, base_offset=at, compression=codec)))
        at += count
    return PartitionData(records=b"".join(batches))


NAME = TopicPartition("t", 0)


def test_pieces_are_bounded_by_what_they_hold_when_opened() -> None:
    data = answer(*[b"0" * 1_000_000] * 12, count=1)
    assert len(data.records or b"") < 20_000
    opened = open_answer(NAME, data, 0, 12, 12, is_stable=True)
    assert [each.message.offset for each in opened.records] == list(range(9))
    assert opened.next_offset == 9
    rest = open_answer(NAME, data, 9, 12, 12, is_stable=True)
    assert ([each.message.offset for each in rest.records], rest.next_offset) == ([9, 10, 11], 12)


def test_many_small_records_count_as_well() -> None:
    opened = open_answer(NAME, answer(*[b""] * 3, count=20_000), 0, 60_000, 60_000, is_stable=True)
    assert (len(opened.records), opened.next_offset) == (20_000, 20_000)


def test_a_batch_that_grows_without_bounds_is_not_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ranges_module, "BATCH_BYTES", 100_000)
    data = answer(b"small", b"0" * 200_000, b"small", count=2)
    opened = open_answer(NAME, data, 0, 6, 6, is_stable=True)
    assert ([each.message.offset for each in opened.records], opened.next_offset) == ([0, 1], 2)
    with pytest.raises(InvalidArgument, match="go on from offset 4"):
        open_answer(NAME, data, 2, 6, 6, is_stable=True)
    assert len(open_answer(NAME, data, 4, 6, 6, is_stable=True).records) == 2
