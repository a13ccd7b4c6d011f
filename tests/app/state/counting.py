"""An application that counts the records of each key in its state."""

from pathlib import Path
from typing import Any

import barnabas
from barnabas import App, State
from tests.support.wait import wait_until_async

KEYS = 10


def counting(servers: str, topic: str, folder: Path, **options: Any) -> App:
    """Counts the records of each key."""
    app = App(servers, state_directory=folder)

    @app.handler(topic, group=f"g-{topic}", name="count", **options)
    def count(number: str, total: State[int]) -> None:
        total.update(lambda old: old + 1, 0)

    return app


def changelog(topic: str) -> str:
    return f"g-{topic}.count.total.changelog"


def fill(servers: str, topic: str, count: int) -> None:
    with barnabas.Producer(servers, key=str, value=str) as producer:
        for number in range(count):
            producer.send(topic, str(number), key=f"k{number % KEYS}")


async def handle(app: App, servers: str, topic: str, count: int) -> None:
    """Until the group has committed all records."""

    def is_done() -> bool:
        if app.failure is not None:
            raise app.failure
        with barnabas.Admin(servers) as admin:
            ends = admin.offsets(topic, "latest")
            committed = admin.group_offsets(f"g-{topic}")
        return sum(ends.values()) == count and all(
            committed.get(each, 0) == end for each, end in ends.items()
        )

    async with app.started():
        await wait_until_async(is_done)


def totals(servers: str, topic: str) -> dict[str, int]:
    with barnabas.Table(servers, changelog(topic), key_format="str", value_format="int") as table:
        return dict(table.items())
