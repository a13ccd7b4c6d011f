"""aiokafka, with uvloop."""

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from benchmarks.libraries.run import (
    CONSUME,
    CONSUME_BATCHED,
    LINGER_MS,
    LIST_RECORDS,
    PRODUCE,
    PRODUCE_BATCHED,
    PRODUCE_OUTCOMES,
    Run,
    in_a_loop,
)

_BATCH_BYTES = 256 * 1024


def _producer(run: Run) -> AIOKafkaProducer:
    return AIOKafkaProducer(
        bootstrap_servers=run.bootstrap,
        acks="all",
        enable_idempotence=True,
        linger_ms=LINGER_MS,
        max_batch_size=_BATCH_BYTES,
    )


async def produce(run: Run) -> None:
    async with _producer(run) as producer:
        topic, value = run.topic, run.value
        await producer.send_and_wait(topic, value)
        run.start()
        for _ in range(run.count):
            await producer.send(topic, value)
        await producer.flush()
        run.stop()


async def produce_outcomes(run: Run) -> None:
    async with _producer(run) as producer:
        topic, value = run.topic, run.value
        await producer.send_and_wait(topic, value)
        run.start()
        sent = [await producer.send(topic, value) for _ in range(run.count)]
        outcomes = await asyncio.gather(*sent)
        run.stop()
        if sum(each.offset is not None for each in outcomes) != run.count:
            raise RuntimeError("not every record was acknowledged")


async def produce_batched(run: Run) -> None:
    async with _producer(run) as producer:
        topic, value = run.topic, run.value
        await producer.send_and_wait(topic, value)
        partitions = sorted(await producer.partitions_for(topic))
        run.start()
        batch, number = producer.create_batch(), 0
        for _ in range(run.count):
            while batch.append(timestamp=None, key=None, value=value) is None:
                partition = partitions[number % len(partitions)]
                await producer.send_batch(batch, topic, partition=partition)
                batch, number = producer.create_batch(), number + 1
        await producer.send_batch(batch, topic, partition=partitions[0])
        await producer.flush()
        run.stop()


def _consumer(run: Run) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        run.topic,
        bootstrap_servers=run.bootstrap,
        group_id=run.group,
        auto_offset_reset="earliest",
    )


async def consume(run: Run) -> None:
    read = 0
    async with _consumer(run) as consumer:
        async for message in consumer:
            if not read:
                run.start()
            if message.value is not None:
                read += 1
            if read == run.count:
                break
        run.stop()


async def consume_batched(run: Run) -> None:
    read = 0
    async with _consumer(run) as consumer:
        while read < run.count:
            polled = await consumer.getmany(timeout_ms=1_000, max_records=LIST_RECORDS)
            if polled and not read:
                run.start()
            for messages in polled.values():
                for message in messages:
                    if message.value is not None:
                        read += 1
        run.stop()


WORK = {
    PRODUCE: in_a_loop(produce),
    PRODUCE_OUTCOMES: in_a_loop(produce_outcomes),
    PRODUCE_BATCHED: in_a_loop(produce_batched),
    CONSUME: in_a_loop(consume),
    CONSUME_BATCHED: in_a_loop(consume_batched),
}
