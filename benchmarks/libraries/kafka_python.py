"""kafka-python."""

from kafka import KafkaConsumer, KafkaProducer

from benchmarks.libraries.run import (
    CONSUME,
    CONSUME_BATCHED,
    LINGER_MS,
    LIST_RECORDS,
    PATIENCE_S,
    PRODUCE,
    PRODUCE_OUTCOMES,
    Run,
)

_BATCH_BYTES = 256 * 1024


def _producer(run: Run) -> KafkaProducer:
    producer = KafkaProducer(
        bootstrap_servers=run.bootstrap,
        acks="all",
        enable_idempotence=True,
        linger_ms=LINGER_MS,
        batch_size=_BATCH_BYTES,
    )
    producer.send(run.topic, run.value).get(PATIENCE_S)
    return producer


def produce(run: Run) -> None:
    producer, topic, value = _producer(run), run.topic, run.value
    run.start()
    for _ in range(run.count):
        producer.send(topic, value)
    producer.flush(PATIENCE_S)
    run.stop()
    producer.close()


def produce_outcomes(run: Run) -> None:
    producer, topic, value = _producer(run), run.topic, run.value
    run.start()
    sent = [producer.send(topic, value) for _ in range(run.count)]
    stored = sum(each.get(PATIENCE_S).offset is not None for each in sent)
    run.stop()
    producer.close()
    if stored != run.count:
        raise RuntimeError(f"{stored} of {run.count} records were acknowledged")


def _consumer(run: Run) -> KafkaConsumer:
    return KafkaConsumer(
        run.topic,
        bootstrap_servers=run.bootstrap,
        group_id=run.group,
        auto_offset_reset="earliest",
        max_poll_records=LIST_RECORDS,
    )


def consume(run: Run) -> None:
    read = 0
    consumer = _consumer(run)
    for message in consumer:
        if not read:
            run.start()
        if message.value is not None:
            read += 1
        if read == run.count:
            break
    run.stop()
    consumer.close()


def consume_batched(run: Run) -> None:
    read = 0
    consumer = _consumer(run)
    while read < run.count:
        polled = consumer.poll(1_000)
        if polled and not read:
            run.start()
        for messages in polled.values():
            for message in messages:
                if message.value is not None:
                    read += 1
    run.stop()
    consumer.close()


WORK = {
    PRODUCE: produce,
    PRODUCE_OUTCOMES: produce_outcomes,
    CONSUME: consume,
    CONSUME_BATCHED: consume_batched,
}
