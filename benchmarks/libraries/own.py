"""Barnabas, the blocking face, and its tables."""

from barnabas import Consumer, Producer
from benchmarks.libraries.run import (
    CONSUME,
    CONSUME_BATCHED,
    CONSUME_TABLES,
    LINGER_MS,
    LIST_RECORDS,
    PATIENCE_S,
    PRODUCE,
    PRODUCE_OUTCOMES,
    PRODUCE_TABLES,
    TABLE_RECORDS,
    Run,
)


def _producer(run: Run) -> Producer:
    producer = Producer(run.bootstrap, linger_ms=LINGER_MS)
    producer.send(run.topic, run.value).result(PATIENCE_S)
    return producer


def produce(run: Run) -> None:
    with _producer(run) as producer:
        topic, value = run.topic, run.value
        run.start()
        for _ in range(run.count):
            producer.send(topic, value)
        producer.flush(PATIENCE_S)
        run.stop()


def produce_outcomes(run: Run) -> None:
    with _producer(run) as producer:
        topic, value = run.topic, run.value
        run.start()
        sent = [producer.send(topic, value) for _ in range(run.count)]
        stored = sum(each.result(PATIENCE_S).offset >= 0 for each in sent)
        run.stop()
    if stored != run.count:
        raise RuntimeError(f"{stored} of {run.count} records were acknowledged")


def produce_tables(run: Run) -> None:
    import pyarrow as pa  # the other works do without, as most applications do

    rows = min(TABLE_RECORDS, run.count)
    table = pa.table({"value": pa.array([run.value] * rows, pa.binary())})
    with _producer(run) as producer:
        run.start()
        for at in range(0, run.count, rows):
            producer.send_table(table.slice(0, run.count - at), topic=run.topic)
        producer.flush(PATIENCE_S)
        run.stop()


def _consumer(run: Run) -> Consumer:
    return Consumer(run.bootstrap, run.topic, group=run.group)


def consume(run: Run) -> None:
    read = 0
    with _consumer(run) as consumer:
        for message in consumer:
            if not read:
                run.start()
            if message.value is not None:
                read += 1
            if read == run.count:
                break
        run.stop()


def consume_batched(run: Run) -> None:
    read = 0
    with _consumer(run) as consumer:
        for messages in consumer.batches(LIST_RECORDS):
            if not read:
                run.start()
            for message in messages:
                if message.value is not None:
                    read += 1
            if read == run.count:
                break
        run.stop()


def consume_tables(run: Run) -> None:
    read = 0
    with _consumer(run) as consumer:
        while read < run.count:
            table = consumer.poll_table()
            if table.num_rows and not read:
                run.start()
            values = table.column("value")
            read += len(values) - values.null_count
        run.stop()


WORK = {
    PRODUCE: produce,
    PRODUCE_OUTCOMES: produce_outcomes,
    PRODUCE_TABLES: produce_tables,
    CONSUME: consume,
    CONSUME_BATCHED: consume_batched,
    CONSUME_TABLES: consume_tables,
}
