"""Barnabas, the face for asyncio, with uvloop."""

from barnabas.aio import Consumer, Producer
from benchmarks.libraries.run import (
    CONSUME,
    CONSUME_BATCHED,
    LINGER_MS,
    LIST_RECORDS,
    PATIENCE_S,
    PRODUCE,
    PRODUCE_OUTCOMES,
    Run,
    in_a_loop,
)


async def produce(run: Run) -> None:
    async with Producer(run.bootstrap, linger_ms=LINGER_MS) as producer:
        topic, value = run.topic, run.value
        await (await producer.send(topic, value))
        run.start()
        for _ in range(run.count):
            await producer.send(topic, value)
        await producer.flush(PATIENCE_S)
        run.stop()


async def produce_outcomes(run: Run) -> None:
    stored = 0
    async with Producer(run.bootstrap, linger_ms=LINGER_MS) as producer:
        topic, value = run.topic, run.value
        await (await producer.send(topic, value))
        run.start()
        for each in [await producer.send(topic, value) for _ in range(run.count)]:
            stored += (await each).offset >= 0
        run.stop()
    if stored != run.count:
        raise RuntimeError(f"{stored} of {run.count} records were acknowledged")


async def consume(run: Run) -> None:
    read = 0
    async with Consumer(run.bootstrap, run.topic, group=run.group) as consumer:
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
    async with Consumer(run.bootstrap, run.topic, group=run.group) as consumer:
        async for messages in consumer.batches(LIST_RECORDS):
            if not read:
                run.start()
            for message in messages:
                if message.value is not None:
                    read += 1
            if read == run.count:
                break
        run.stop()


WORK = {
    PRODUCE: in_a_loop(produce),
    PRODUCE_OUTCOMES: in_a_loop(produce_outcomes),
    CONSUME: in_a_loop(consume),
    CONSUME_BATCHED: in_a_loop(consume_batched),
}
