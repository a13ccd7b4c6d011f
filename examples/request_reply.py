"""Request-reply: ask over a topic, and wait for the answer that belongs to the question.

    barnabas server &
    python examples/request_reply.py [BOOTSTRAP]

The headers of a question name the topic for the answer and the id of the question. Each asker has
its own topic for answers; the workers form a group, and share the questions.
"""

import argparse
import asyncio
from types import TracebackType
from typing import Self
from uuid import uuid4

from barnabas import Message
from barnabas.aio import Admin, Consumer, Producer


def header(message: Message, name: str) -> bytes:
    """One that has to be there."""
    return dict(message.headers)[name] or b""


class Asker:
    """Asks many questions at a time."""

    def __init__(self, bootstrap: str) -> None:
        self._topic = f"answers-{uuid4().hex[:8]}"
        self._admin = Admin(bootstrap)
        self._producer = Producer(bootstrap, linger_ms=0, value_format="str")
        self._consumer = Consumer(bootstrap, self._topic, value_format="str")
        self._waiting: dict[bytes, asyncio.Future[str]] = {}

    async def __aenter__(self) -> Self:
        await self._admin.create_topic(self._topic)
        self._listener = asyncio.create_task(self._listen())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.cancel()
        await asyncio.gather(self._listener, return_exceptions=True)
        await self._consumer.close()
        await self._producer.close()
        await self._admin.delete_topic(self._topic)
        await self._admin.close()

    async def ask(self, question: str, timeout_s: float = 10) -> str:
        """The answer; TimeoutError if there is none in time."""
        number = uuid4().bytes
        self._waiting[number] = asyncio.get_running_loop().create_future()
        headers = [("reply-to", self._topic.encode()), ("question", number)]
        try:
            await self._producer.send("questions", question, headers=headers)
            return await asyncio.wait_for(self._waiting[number], timeout_s)
        finally:
            del self._waiting[number]

    async def _listen(self) -> None:
        async for answer in self._consumer:
            asked = self._waiting.get(header(answer, "question"))
            if asked is not None and not asked.done():  # else too late, or answered twice
                asked.set_result(answer.value)


async def answer(bootstrap: str) -> None:
    """Knows how to shout, and nothing else. Run as many as are needed."""
    async with (
        Consumer(bootstrap, "questions", group="shouters", value_format="str") as consumer,
        Producer(bootstrap, linger_ms=0, value_format="str") as producer,
    ):
        async for question in consumer:
            sent = await producer.send(
                header(question, "reply-to").decode(),
                question.value.upper() + "!",
                headers=[("question", header(question, "question"))],
            )
            await sent  # before this question counts as done


async def main(bootstrap: str) -> None:
    async with Admin(bootstrap) as admin:
        await admin.create_topic("questions", partitions=2)
    answerers = [asyncio.create_task(answer(bootstrap)) for _ in range(2)]
    async with Asker(bootstrap) as asker:
        print(await asker.ask("is anybody there"))
        words = [f"word {number}" for number in range(100)]
        answers = await asyncio.gather(*map(asker.ask, words))
        right = sum(said == f"{word.upper()}!" for word, said in zip(words, answers, strict=True))
        print(f"{right} of {len(words)} questions have got their own answer")
    for each in answerers:
        each.cancel()
    await asyncio.gather(*answerers, return_exceptions=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    asyncio.run(main(parser.parse_args().bootstrap))
