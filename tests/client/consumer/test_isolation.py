"""Readers of committed records see what was committed, from wherever they start."""

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.completed_fetch import (
    CompletedFetch,
    CompletedFetchReader,
    FetchState,
    end_of,
)
from barnabas.client.consumer.partition_progress import PartitionProgress
from barnabas.client.offsets.isolation import AbortedTransactions
from barnabas.records.batch import parse_header, patch_crc
from barnabas.records.control import ControlType, encode_end_marker
from barnabas.records.encode import encode_batch
from barnabas.wire.messages.fetch import AbortedTransaction
from tests.support.tier import examples

PARTITION = TopicPartition("t", 0)


class Log:
    """Batches of several producers, and the truth about each record."""

    def __init__(self) -> None:
        self.batches: list[bytearray] = []
        self.end = 0
        self.aborted: list[tuple[AbortedTransaction, int]] = []
        self.committed: list[int] = []
        self._open: dict[int, list[int]] = {}

    def write(self, producer_id: int, count: int, *, plain: bool) -> None:
        """Plain batches count at once, even in the middle of a transaction."""
        offsets = range(self.end, self.end + count)
        if plain:
            self.committed += offsets
        else:
            self._open.setdefault(producer_id, []).extend(offsets)
        self._append(
            encode_batch(
                [(0, None, b"%d" % offset, ()) for offset in offsets],
                base_offset=self.end,
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=0,
                transactional=not plain,
            )
        )

    def finish(self, producer_id: int, kind: ControlType) -> None:
        """A coordinator may write a marker where nothing was written: then nothing is aborted."""
        offsets = self._open.pop(producer_id, [])
        if kind is ControlType.COMMIT:
            self.committed += offsets
        elif offsets:
            self.aborted.append((AbortedTransaction(producer_id, offsets[0]), self.end))
        self._append(
            encode_end_marker(
                kind,
                timestamp_ms=0,
                producer_id=producer_id,
                producer_epoch=0,
                coordinator_epoch=0,
                base_offset=self.end,
            )
        )

    def _append(self, batch: bytearray) -> None:
        self.batches.append(batch)
        self.end = parse_header(batch).next_offset

    def close(self) -> None:
        for producer_id in list(self._open):
            self.finish(producer_id, ControlType.ABORT)


producers = st.integers(1, 2)
steps = st.lists(
    st.one_of(
        st.tuples(producers, st.integers(1, 2), st.booleans()),
        st.tuples(producers, st.sampled_from(ControlType), st.none()),
    ),
    min_size=3,
    max_size=25,
)


@settings(max_examples=examples(200))
@given(steps, st.data())
def test_exactly_the_committed_records_are_shown(
    steps: list[tuple[int, int, bool | None]], data: st.DataObject
) -> None:
    log = Log()
    for producer_id, what, plain in steps:
        if plain is None:
            log.finish(producer_id, ControlType(what))
        else:
            log.write(producer_id, what, plain=plain)
    log.close()
    start = data.draw(st.integers(0, log.end) | st.just(0))
    # A broker sends whole batches from the one that holds `start`, up to some limit, and names
    # the aborted transactions that reach into them, in no order that would matter.
    sent = [batch for batch in log.batches if parse_header(batch).next_offset > start]
    sent = sent[: data.draw(st.just(len(sent)) | st.integers(0, len(sent)))]
    begin = parse_header(sent[0]).base_offset if sent else start
    end = parse_header(sent[-1]).next_offset if sent else start
    named = [each for each, marker in log.aborted if each.first_offset < end and marker >= begin]
    aborted = data.draw(st.permutations(named))
    answer = b"".join(sent)
    following = end_of(answer) if sent else start
    assert following is not None
    state = FetchState(PARTITION, PartitionProgress(start))
    fetch = CompletedFetch(state, 0, start, following, answer, aborted, log.end)
    reader = CompletedFetchReader(fetch)
    messages = [each for batch in iter(reader.read, []) for each in batch]
    assert [message.offset for message in messages] == [
        offset for offset in sorted(log.committed) if start <= offset < end
    ]
    assert all(message.value == b"%d" % message.offset for message in messages)
    assert following == end


def test_a_marker_whose_record_compaction_removed_shows_nothing() -> None:
    log = Log()
    log.write(1, 2, plain=False)
    marker = encode_batch(
        [(0, b"", b"", ())],
        base_offset=2,
        producer_id=1,
        producer_epoch=0,
        transactional=True,
        control=True,
    )
    emptied = marker[:61]
    emptied[8:12] = (61 - 12).to_bytes(4, "big")  # batch_length
    emptied[57:61] = bytes(4)  # record_count
    aborted = AbortedTransactions([AbortedTransaction(1, 0)])
    header = parse_header(log.batches[0])
    assert aborted.hide(header, log.batches[0])
    patch_crc(emptied)
    assert aborted.hide(parse_header(emptied), emptied)
