"""Results of jobs that an application handles, for those who have submitted them."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import pytest

import barnabas
from barnabas import App
from barnabas.errors import InvalidArgument, JobFailed
from tests.support.wait import LIMIT_S


@dataclass
class Mail:
    to: str


@dataclass
class Receipt:
    number: int


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with barnabas.Cluster() as cluster:
        yield cluster.bootstrap_servers


def test_a_handler_of_a_share_group_answers(servers: str) -> None:
    topic = f"mails-{uuid4().hex[:8]}"
    app = App(servers)

    @app.handler(topic, group=topic, share=True, retries=1, dead_letters=f"{topic}-dead")
    async def send(mail: Mail) -> object:
        if mail.to == "nobody":
            raise ValueError("no such address")
        return {"receipt": Receipt(7), "text": "sent", "object": object()}.get(mail.to)

    async def run() -> None:
        async with (
            app.started(),
            barnabas.aio.Queue(servers, topic, group=topic, value=Mail) as queue,
            asyncio.timeout(LIMIT_S),
        ):
            names = ("receipt", "text", "ada", "nobody", "object")
            receipt, text, nothing, refused, unknown = [
                await queue.submit(Mail(name)) for name in names
            ]
            assert await receipt == {"number": 7}
            assert await text == "sent"
            assert await nothing is None
            with pytest.raises(JobFailed, match="ValueError: no such address"):
                await refused
            with pytest.raises(JobFailed, match="object"):
                await unknown

    asyncio.run(run())


def test_a_handler_answers_for_the_steps_before_it_that_it_names(servers: str) -> None:
    first, topic = (f"mails-{uuid4().hex[:8]}" for _ in range(2))
    app = App(servers)

    @app.handler(topic, group=topic, share=True, results_of=first)
    async def send(mail: Mail) -> str:
        return f"sent to {mail.to}"

    async def run() -> None:
        async with (
            app.started(),
            barnabas.aio.Queue(servers, first, group=first, value=Mail) as queue,
            barnabas.aio.Queue(servers, topic, group=topic, value=Mail) as next_step,
            asyncio.timeout(LIMIT_S),
        ):
            submitted = await queue.submit(Mail("ada"))
            job = await queue.get()
            assert job is not None
            await next_step.put(Mail("bob"), continues=job)
            job.accept()
            assert await submitted == "sent to bob"

    asyncio.run(run())


def test_only_jobs_have_results_for_others() -> None:
    async def send(mail: Mail) -> str:
        return mail.to

    with pytest.raises(InvalidArgument, match="results_of is for jobs; add share=True"):
        App().handler("t", group="g", results_of="first")(send)
