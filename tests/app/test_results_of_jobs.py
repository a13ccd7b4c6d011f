"""Results of jobs that an application handles, for those who have submitted them."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import pytest

import barnabas
from barnabas import App
from barnabas.errors import JobFailed
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
