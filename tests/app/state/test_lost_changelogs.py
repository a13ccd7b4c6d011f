"""Changelogs that were deleted or damaged: the handler stops, and its state is built again."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import barnabas
from barnabas import App, State
from barnabas.app.state.changelog import ChangelogNames
from barnabas.app.state.changelog_topic import ensure_changelog
from barnabas.app.state.rebuild import rebuild
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import StateLost, UnknownTopic
from tests.app.state.counting import KEYS, changelog, counting, fill, handle, totals
from tests.cli.conftest import Cli
from tests.support.wait import wait_until_async

Spoil = Callable[[str, str], None]
both = pytest.mark.parametrize("exactly_once", [False, True])
SOURCE = """
import barnabas

app = barnabas.App("{servers}", state_directory="state")

@app.handler("{topic}", group="g-{topic}", name="count", produces="{topic}-out")
def count(number: str, total: barnabas.State[int]) -> int:
    return total.update(lambda old: old + 1, 0)

@app.handler("{topic}", group="other-{topic}", name="print")
def show(number: str) -> None: ...
"""


@pytest.fixture
def cli(servers: str) -> Cli:
    return Cli(servers)


@pytest.fixture
def service(servers: str, topic: str, tmp_path: Path) -> str:
    path = tmp_path / f"service_{topic.replace('-', '_')}.py"
    path.write_text(SOURCE.format(servers=servers, topic=topic))
    return str(path)


def counted_once(servers: str, topic: str, folder: Path, **options: Any) -> None:
    """100 records are handled."""
    fill(servers, topic, 100)
    asyncio.run(handle(counting(servers, topic, folder, **options), servers, topic, 100))


def is_counted(servers: str, topic: str, count: int) -> bool:
    try:
        return sum(totals(servers, topic).values()) == count
    except UnknownTopic:
        return False


@both
def test_a_deleted_changelog_is_not_taken_for_an_empty_one(
    servers: str, topic: str, tmp_path: Path, exactly_once: bool
) -> None:
    counted_once(servers, topic, tmp_path, exactly_once=exactly_once)
    with barnabas.Admin(servers) as admin:
        admin.delete_topic(changelog(topic))
    fill(servers, topic, 1)
    app = counting(servers, topic, tmp_path, exactly_once=exactly_once)
    with pytest.raises(StateLost, match=r"does not exist.*app state rebuild MODULE:NAME count"):
        asyncio.run(handle(app, servers, topic, 101))


def expire(servers: str, topic: str) -> None:
    """Retention deletes all records of the source."""
    with barnabas.Admin(servers) as admin:
        ends = admin.offsets(topic, "latest")
        admin.delete_records({each: end for each, end in ends.items() if end})


def test_a_deleted_changelog_is_not_taken_for_an_empty_one_after_retention(
    servers: str, topic: str, tmp_path: Path, cli: Cli, service: str
) -> None:
    """The group is where the source begins, and has handled records nevertheless."""
    counted_once(servers, topic, tmp_path)
    delete(servers, topic)
    expire(servers, topic)
    with pytest.raises(StateLost, match=r"does not exist.*app state rebuild MODULE:NAME count"):
        asyncio.run(handle(counting(servers, topic, tmp_path), servers, topic, 101))
    cli.ok("app", "state", "rebuild", service, "count", "--yes", "--partial")
    fill(servers, topic, 10)
    asyncio.run(handle(counting(servers, topic, tmp_path), servers, topic, 110))
    assert totals(servers, topic) == {f"k{key}": 1 for key in range(KEYS)}


class Rebuilding:
    """An admin client of a cluster where a source has lost its beginning, up to a step."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self.committed = 5_000
        self.has_changelog = True

    def _step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise KeyboardInterrupt

    async def topics(self) -> dict[str, Any]:
        names = ["orders", NAMES.topic] if self.has_changelog else ["orders"]
        return dict.fromkeys(names, SimpleNamespace(partitions=[SimpleNamespace(replicas=[1])]))

    async def describe_topic(self, name: str) -> Any:
        return (await self.topics())[name]

    async def describe_group(self, _group: str) -> Any:
        return SimpleNamespace(members=[])

    async def configs(self, *, topic: str) -> dict[str, Any]:
        return {"cleanup.policy": SimpleNamespace(value="compact")} if topic == NAMES.topic else {}

    async def group_offsets(self, _group: str) -> dict[TopicPartition, int]:
        return {TopicPartition("orders", 0): self.committed, TopicPartition("others", 0): 1}

    async def delete_topic(self, _name: str, *, missing_ok: bool) -> None:
        assert missing_ok
        self._step()
        self.has_changelog = False

    async def set_group_offsets(self, _group: str, _to: str, *, topics: str) -> None:
        assert topics == "orders"
        self._step()
        self.committed = 4_000

    async def create_topic(self, _name: str, **_: Any) -> None:
        self._step()
        self.has_changelog = True


NAMES = ChangelogNames("g.count.total.changelog", "orders", "g", "count")


@pytest.mark.parametrize("steps", range(4))
def test_no_step_of_a_rebuild_leaves_a_group_that_would_begin_without_state(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.app.state.changelog_topic._LOOK_AGAIN_S", 0)
    admin: Any = Rebuilding(steps)

    async def main() -> None:
        with suppress(KeyboardInterrupt):
            await rebuild(admin, NAMES)
        if steps in (1, 2):
            with pytest.raises(StateLost, match="does not exist"):
                await ensure_changelog(admin, NAMES)
        else:
            await ensure_changelog(admin, NAMES)
            assert admin.committed == (5_000 if steps == 0 else 4_000)

    asyncio.run(main())


def test_a_handler_that_has_handled_nothing_gets_a_changelog() -> None:
    admin: Any = Rebuilding(1)
    admin.has_changelog, admin.committed = False, 0
    asyncio.run(ensure_changelog(admin, NAMES))
    assert admin.has_changelog


def delete(servers: str, topic: str) -> None:
    with barnabas.Admin(servers) as admin:
        admin.delete_topic(changelog(topic))


def keep_a_part(servers: str, topic: str) -> None:
    with barnabas.Admin(servers) as admin:
        admin.set_configs({"cleanup.policy": "delete"}, topic=changelog(topic))
        ends = admin.offsets(changelog(topic), "latest")
        admin.delete_records({each: end for each, end in ends.items() if end})
        admin.set_configs({"cleanup.policy": "compact"}, topic=changelog(topic))


def create_another(servers: str, topic: str) -> None:
    with barnabas.Admin(servers) as admin:
        admin.delete_topic(changelog(topic))
        admin.create_topic(changelog(topic), partitions=3)


def write_nonsense(servers: str, topic: str) -> None:
    written: set[bytes | None] = set()
    with (
        barnabas.Producer(servers) as producer,
        barnabas.Consumer(servers, changelog(topic), start="earliest") as consumer,
    ):
        while len(written) < KEYS:
            for each in consumer.poll(0.2):
                written.add(each.key)
                producer.send(each.topic, b"damage", key=each.key, partition=each.partition)


@pytest.mark.parametrize("spoil", [delete, keep_a_part, create_another, write_nonsense])
def test_state_is_built_again_from_the_source(
    servers: str, topic: str, tmp_path: Path, cli: Cli, service: str, spoil: Spoil
) -> None:
    counted_once(servers, topic, tmp_path)
    spoil(servers, topic)
    fill(servers, topic, 100)
    with pytest.raises(StateLost, match="app state rebuild MODULE:NAME count"):
        asyncio.run(handle(counting(servers, topic, tmp_path / "new"), servers, topic, 200))
    said = cli.ok("app", "state", "rebuild", service, "count", "--yes")
    assert said == ""
    asyncio.run(handle(counting(servers, topic, tmp_path / "new"), servers, topic, 200))
    assert totals(servers, topic) == {f"k{key}": 20 for key in range(KEYS)}


async def lose(app: App, servers: str, topic: str, spoil: Spoil) -> None:
    """While it handles records."""
    async with app.started():
        await asyncio.to_thread(fill, servers, topic, 100)
        await wait_until_async(lambda: is_counted(servers, topic, 100))
        await asyncio.to_thread(spoil, servers, topic)
        await asyncio.to_thread(fill, servers, topic, 100)
        await wait_until_async(lambda: app.failure is not None)


@pytest.mark.long  # a producer tries for two minutes
@both
def test_a_changelog_that_is_deleted_while_it_is_in_use(
    servers: str, topic: str, tmp_path: Path, exactly_once: bool
) -> None:
    letters = f"{topic}-dead"
    app = counting(servers, topic, tmp_path, exactly_once=exactly_once, dead_letters=letters)
    with pytest.raises(StateLost, match="was deleted while it was in use"):
        asyncio.run(lose(app, servers, topic, delete))
    with barnabas.Admin(servers) as admin:
        assert not any(admin.offsets(letters).values())


@both
def test_a_changelog_that_is_created_again_while_it_is_in_use(
    servers: str, topic: str, tmp_path: Path, exactly_once: bool
) -> None:
    app = counting(servers, topic, tmp_path, exactly_once=exactly_once)
    with pytest.raises(StateLost, match="deleted and created again"):
        asyncio.run(lose(app, servers, topic, create_again))


def create_again(servers: str, topic: str) -> None:
    with barnabas.Admin(servers) as admin:
        admin.delete_topic(changelog(topic))
        admin.create_topic(changelog(topic), partitions=4, configs={"cleanup.policy": "compact"})


def test_a_value_of_another_type_is_not_given_up(servers: str, topic: str, tmp_path: Path) -> None:
    """Not even if the function catches the error: other records of the key would be next."""
    counted_once(servers, topic, tmp_path)
    fill(servers, topic, 10)
    app = App(servers, state_directory=tmp_path)

    @app.handler(topic, group=f"g-{topic}", name="count", retries=3, dead_letters=f"{topic}-dead")
    def count(number: str, total: State[list[str]]) -> None:
        try:
            total.set([*total.get([]), number])
        except ValueError:
            total.set([])

    with pytest.raises(StateLost, match=r"key b'k\d' can't be read.*defaults for new fields"):
        asyncio.run(handle(app, servers, topic, 110))
    with barnabas.Admin(servers) as admin:
        assert not any(admin.offsets(f"{topic}-dead").values())


def test_a_rebuild_needs_the_application_to_be_stopped(
    servers: str, topic: str, tmp_path: Path, cli: Cli, service: str
) -> None:
    counted_once(servers, topic, tmp_path)
    app = counting(servers, topic, tmp_path)

    async def main() -> None:
        async with app.started():
            await wait_until_async(lambda: app.is_ready)
            await wait_until_async(has_members)
            said = await asyncio.to_thread(
                cli.fails, 1, "app", "state", "rebuild", service, "count", "--yes"
            )
            assert "has 1 member: stop the application first" in said

    def has_members() -> bool:
        with barnabas.Admin(servers) as admin:
            return bool(admin.describe_group(f"g-{topic}").members)

    asyncio.run(main())
    assert sum(totals(servers, topic).values()) == 100


def test_a_source_that_has_lost_its_beginning(
    servers: str, topic: str, tmp_path: Path, cli: Cli, service: str
) -> None:
    counted_once(servers, topic, tmp_path)
    with barnabas.Admin(servers) as admin:
        ends = admin.offsets(topic, "latest")
        admin.delete_records({each: end // 2 for each, end in ends.items()})
    said = cli.fails(1, "app", "state", "rebuild", service, "count", "--yes")
    assert "begins at offset" in said
    assert "--partial" in said
    assert sum(totals(servers, topic).values()) == 100
    cli.ok("app", "state", "rebuild", service, "count", "--yes", "--partial")
    asyncio.run(handle(counting(servers, topic, tmp_path), servers, topic, 100))
    left = sum(end - end // 2 for end in ends.values())
    assert sum(totals(servers, topic).values()) == left


def test_state_that_is_to_begin_empty(
    servers: str, topic: str, tmp_path: Path, cli: Cli, service: str
) -> None:
    """Such as that of a handler that had none before."""
    counted_once(servers, topic, tmp_path)
    cli.ok("app", "state", "rebuild", service, "count", "--empty", "--yes")
    fill(servers, topic, 10)
    asyncio.run(handle(counting(servers, topic, tmp_path), servers, topic, 110))
    assert totals(servers, topic) == {f"k{key}": 1 for key in range(KEYS)}


def test_a_rebuild_that_was_cut_short_is_done_again(
    servers: str, topic: str, tmp_path: Path, cli: Cli, service: str
) -> None:
    """The changelog is deleted first, so nothing starts without it."""
    counted_once(servers, topic, tmp_path)
    delete(servers, topic)
    cli.ok("app", "state", "rebuild", service, "count", "--yes")
    cli.ok("app", "state", "rebuild", service, "count", "--yes")
    asyncio.run(handle(counting(servers, topic, tmp_path), servers, topic, 100))
    assert totals(servers, topic) == {f"k{key}": 10 for key in range(KEYS)}


def test_what_can_not_be_rebuilt(cli: Cli, service: str) -> None:
    said = cli.fails(2, "app", "state", "rebuild", service, "print")
    assert "no handler 'print' with a State; there are: count" in said
    assert "--empty" in cli.fails(
        2, "app", "state", "rebuild", service, "count", "--empty", "--partial"
    )
