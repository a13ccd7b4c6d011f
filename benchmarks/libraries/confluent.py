"""confluent-kafka, which is librdkafka."""

from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

from benchmarks.libraries.run import (
    CONSUME,
    CONSUME_BATCHED,
    LINGER_MS,
    LIST_RECORDS,
    PATIENCE_S,
    PRODUCE,
    PRODUCE_BATCHED,
    PRODUCE_OUTCOMES,
    Run,
)

_BATCH_BYTES = 1_000_000


def _producer(run: Run) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": run.bootstrap,
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": LINGER_MS,
            "batch.size": _BATCH_BYTES,
        }
    )
    producer.produce(run.topic, run.value)
    _flush(producer)
    return producer


def _flush(producer: Producer) -> None:
    if producer.flush(PATIENCE_S):
        raise RuntimeError("not everything could be produced")


def produce(run: Run) -> None:
    producer, topic, value = _producer(run), run.topic, run.value
    run.start()
    for _ in range(run.count):
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.01)
    _flush(producer)
    run.stop()


def produce_outcomes(run: Run) -> None:
    producer, topic, value = _producer(run), run.topic, run.value
    stored = 0

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        nonlocal stored
        if error is not None:
            raise KafkaException(error)
        if message.offset() is not None:
            stored += 1

    run.start()
    for _ in range(run.count):
        while True:
            try:
                producer.produce(topic, value, on_delivery=on_delivery)
                break
            except BufferError:
                producer.poll(0.01)
        producer.poll(0)
    _flush(producer)
    run.stop()
    if stored != run.count:
        raise RuntimeError(f"{stored} of {run.count} records were acknowledged")


def produce_batched(run: Run) -> None:
    producer, topic, value = _producer(run), run.topic, run.value
    run.start()
    left = run.count
    while left:
        messages = [{"value": value} for _ in range(min(LIST_RECORDS, left))]
        queued = producer.produce_batch(topic, messages)
        left -= queued
        if queued < len(messages):
            producer.poll(0.01)
    _flush(producer)
    run.stop()


def _consumer(run: Run) -> Consumer:
    options: dict[str, Any] = {
        "bootstrap.servers": run.bootstrap,
        "group.id": run.group,
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(options)
    consumer.subscribe([run.topic])
    return consumer


def consume(run: Run) -> None:
    consumer = _consumer(run)
    read = 0
    while read < run.count:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            raise KafkaException(message.error())
        if not read:
            run.start()
        if message.value() is not None:
            read += 1
    run.stop()
    consumer.close()


def consume_batched(run: Run) -> None:
    consumer = _consumer(run)
    read = 0
    while read < run.count:
        messages = consumer.consume(LIST_RECORDS, 1)
        if messages and not read:
            run.start()
        for message in messages:
            if message.error():
                raise KafkaException(message.error())
            if message.value() is not None:
                read += 1
    run.stop()
    consumer.close()


WORK = {
    PRODUCE: produce,
    PRODUCE_OUTCOMES: produce_outcomes,
    PRODUCE_BATCHED: produce_batched,
    CONSUME: consume,
    CONSUME_BATCHED: consume_batched,
}
