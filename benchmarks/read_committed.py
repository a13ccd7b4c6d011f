"""What it costs a consumer to read committed records only, on the same topic in the same run.

One partition with 1 kB records in transactions of 1,000, all of them committed, or every other one
aborted. librdkafka reads it from the start to the end, as `read_committed` and as
`read_uncommitted`: MB of what is stored a second on the clock, and CPU of the broker for each GB.
What was aborted is sent to either, and dropped by the first.
"""

import time

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from benchmarks.bench import BASELINE, TOPIC, Bench, Row, Values
from benchmarks.brokers import BARE, Broker, Contender

_SIZE = 1000
_EACH = 1000
_PATIENCE_S = 60.0
_LEVELS = ("read_committed", "read_uncommitted")


def measure(bench: Bench) -> list[Row]:
    bench = bench.only(*(c.name for c in bench.contenders if c.name != BARE))
    transactions = 40 if bench.quick else 200
    rows = []
    for aborts, label in ((False, "all committed"), (True, "every other aborted")):

        def run(contender: Contender, aborts: bool = aborts) -> Values:
            values = {}
            with contender.running(TOPIC) as broker:
                fill(broker, transactions, aborts=aborts)
                consume(broker, "read_uncommitted", transactions * _EACH)  # warm the cache
                for level in _LEVELS:
                    expected = transactions * _EACH
                    if aborts and level == "read_committed":
                        expected //= 2
                    took_s, cpu_s = consume(broker, level, expected)
                    megabytes = transactions * _EACH * _SIZE / 1e6
                    values[f"{level} MB/s"] = megabytes / took_s
                    values[f"{level} s/GB"] = cpu_s / (megabytes / 1000)
            return values

        values = bench.alternate(f"read_committed, {label}", run)
        for unit, what in (("MB/s", "Consume"), ("s/GB", "Broker CPU per GB out")):
            plain = values[f"read_uncommitted {unit}"]
            found = values[f"read_committed {unit}"] | {BASELINE: next(iter(plain.values()))}
            rows.append(Row(f"{what}, read_committed vs. uncommitted, {label}", unit, found))
    return rows


def fill(broker: Broker, transactions: int, *, aborts: bool) -> None:
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "transactional.id": "filler",
            "queue.buffering.max.kbytes": 200_000,
            "log_level": 2,
        }
    )
    producer.init_transactions(_PATIENCE_S)
    value = bytes(_SIZE)
    for number in range(transactions):
        producer.begin_transaction()
        for _ in range(_EACH):
            producer.produce(TOPIC, value)
        if producer.flush(_PATIENCE_S):
            raise RuntimeError("not everything could be produced")
        if aborts and number % 2:
            producer.abort_transaction(_PATIENCE_S)
        else:
            producer.commit_transaction(_PATIENCE_S)


def consume(broker: Broker, level: str, expected: int) -> tuple[float, float]:
    """Seconds until the end, and CPU seconds of the broker."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": level,
            "queued.max.messages.kbytes": 200_000,
        }
    )
    consumer.list_topics(TOPIC, 30)
    used, began = broker.cpu_s(), time.perf_counter()
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    read, at_end = 0, False
    while not at_end:
        for message in consumer.consume(10_000, 0.1):
            error = message.error()
            if error is None:
                read += 1
            elif error.code() == KafkaError._PARTITION_EOF:
                at_end = True
        if time.perf_counter() - began > _PATIENCE_S:
            raise RuntimeError(f"only {read} of {expected} records came back")
    took_s, cpu_s = time.perf_counter() - began, broker.cpu_s() - used
    consumer.close()
    if read != expected:
        raise RuntimeError(f"{read} records came back instead of {expected}")
    return took_s, cpu_s
