"""Dead letters sent back to their topics, once the pipeline or the schema is fixed."""

from collections import Counter
from collections.abc import Mapping

from barnabas.client.group.progress_groups import REPLAY_SUFFIX
from barnabas.errors import InvalidArgument
from barnabas.records.message import Message
from barnabas.spark.dead_letters.dead_record import HEADER_PREFIX
from barnabas.spark.pipelines.definition.pipeline import Pipeline
from barnabas.sync.admin import Admin
from barnabas.sync.consumer import Consumer
from barnabas.sync.producer import Producer

_TOPIC = f"{HEADER_PREFIX}topic"


def replay_dead_letters(
    pipeline: Pipeline, bootstrap_servers: str, *, security: Mapping[str, str] | None = None
) -> Counter[tuple[str, str]]:
    """Send the dead letters of a pipeline back; returns the number for each pair of topics.

    They are sent unchanged, without the added headers and with the current time, and they stay in
    the dead-letter topic. Each is sent back once: the group `NAME.replay` records which were
    sent, and its offsets are committed together with the records. Dead letters that arrive
    meanwhile may be left for the next replay; so are records that still can't be decoded.
    `security` has Kafka's client settings for encryption and authentication.
    """
    topics = _topics(pipeline)
    if not topics:
        raise InvalidArgument(f"pipeline {pipeline.name} has no dead-letter topic")
    name = f"{pipeline.name}{REPLAY_SUFFIX}"
    with Admin(bootstrap_servers, security=security) as admin:
        ends = {
            partition: end
            for topic in topics
            for partition, end in admin.offsets(topic, isolation="read_committed").items()
        }
    sent: Counter[tuple[str, str]] = Counter()
    with (
        Consumer(
            bootstrap_servers, topics, group=name, commit="manual", security=security
        ) as consumer,
        Producer(bootstrap_servers, transactional_id=name, security=security) as producer,
    ):
        while True:
            letters = consumer.poll()
            if letters:
                with producer.transaction(consumer):
                    for each in letters:
                        producer.send(_origin(each), each.value, each.key, headers=_headers(each))
                sent.update((each.topic, _origin(each)) for each in letters)
            mine = consumer.assignment
            if mine and all(consumer.position(each) >= ends.get(each, 0) for each in mine):
                return sent


def has_dead_letters(pipeline: Pipeline) -> bool:
    """Whether it has a topic for them."""
    return bool(_topics(pipeline))


def _topics(pipeline: Pipeline) -> list[str]:
    topics = (each.dead_letter_topic for each in pipeline.sources.values())
    return sorted({each for each in topics if each is not None})


def _origin(letter: Message) -> str:
    """The topic that it came from."""
    for name, value in letter.headers:
        if name == _TOPIC and value is not None:
            return value.decode()
    raise InvalidArgument(
        f"record {letter.topic}:{letter.partition}@{letter.offset} is not a dead letter: it has "
        f"no header {_TOPIC}"
    )


def _headers(letter: Message) -> list[tuple[str, bytes | None]]:
    """Those that it had there."""
    return [each for each in letter.headers if not each[0].startswith(HEADER_PREFIX)]
