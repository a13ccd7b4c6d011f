"""Dead letters are sent back once, by a replay of the pipeline and one of the topic together."""

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

import barnabas
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.dead_letters.letters import LetterCluster
from barnabas.dead_letters.replay import ReplayResult, replay_letters
from barnabas.spark.dead_letters.dead_record import DeadRecord
from barnabas.spark.pipelines import from_topic, pipeline, replay_dead_letters, to_topic

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_each_is_sent_once_by_both_replays_together(
    bootstrap: str, producer: barnabas.Producer, make_topic: Callable[..., str]
) -> None:
    source, bad = make_topic(1, "lines"), make_topic(2, "bad")

    @pipeline(
        sources={"lines": from_topic(source, "word STRING", dead_letters=bad)},
        sink=to_topic("words"),
    )
    def words(lines: object) -> object:
        return lines

    def write(*values: bytes) -> None:
        for each in values:
            dead = DeadRecord(TopicPartition(source, 0), 7, NOON, None, each, [], "nonsense")
            producer.send(bad, each, headers=dead.letter_headers())
        producer.flush()

    def replay_topic() -> ReplayResult:
        return asyncio.run(replay_letters(LetterCluster(bootstrap, {}, "test"), bad, None))

    write(b"1", b"2")
    producer.send(bad, b"no dead letter", partition=0)
    producer.send(bad, b"no dead letter", partition=1)
    assert replay_dead_letters(words, bootstrap) == Counter({(bad, source): 2})
    assert replay_topic().sent == Counter()
    write(b"3")
    assert replay_topic().sent == Counter({source: 1})
    assert replay_dead_letters(words, bootstrap) == Counter()

    async def in_a_notebook() -> Counter[tuple[str, str]]:
        write(b"4")
        return replay_dead_letters(words, bootstrap)

    assert asyncio.run(in_a_notebook()) == Counter({(bad, source): 1})
    with barnabas.Consumer(bootstrap, source) as consumer:
        found: list[barnabas.Message] = []
        while len(found) < 4:
            found += consumer.poll(5)
    assert [(each.value, each.headers) for each in found] == [
        (value, ()) for value in (b"1", b"2", b"3", b"4")
    ]


def test_a_record_that_dies_twice_says_only_where_it_was_last() -> None:
    first = DeadRecord(TopicPartition("a", 1), 2, NOON, None, b"x", [("own", b"1")], "first")
    again = DeadRecord(TopicPartition("b", 3), 4, None, None, b"x", first.letter_headers(), "last")
    assert again.letter_headers() == [
        ("own", b"1"),
        ("dead-letter.topic", b"b"),
        ("dead-letter.partition", b"3"),
        ("dead-letter.offset", b"4"),
        ("dead-letter.timestamp", None),
        ("dead-letter.reason", b"last"),
    ]
