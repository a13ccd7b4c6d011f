"""State in a changelog topic and in local files: restored by another worker, and after damage."""

import asyncio
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import pytest

import barnabas
from barnabas import App, Expires, State
from barnabas.errors import InvalidArgument, StateLost
from tests.app.state.counting import KEYS, changelog, counting, fill, handle, totals
from tests.support.wait import wait_until_async

both = pytest.mark.parametrize("exactly_once", [False, True])


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.sqlite"))


@both
def test_counts_are_kept_in_a_compacted_topic(
    servers: str, topic: str, tmp_path: Path, exactly_once: bool
) -> None:
    fill(servers, topic, 300)
    app = counting(servers, topic, tmp_path, exactly_once=exactly_once)
    asyncio.run(handle(app, servers, topic, 300))
    assert totals(servers, topic) == {f"k{key}": 30 for key in range(KEYS)}
    with barnabas.Admin(servers) as admin:
        assert len(admin.describe_topic(changelog(topic)).partitions) == 4
        assert admin.configs(topic=changelog(topic))["cleanup.policy"].value == "compact"
    assert len(files(tmp_path)) == 4


def damage(path: Path) -> None:
    path.write_bytes(b"this is no database, and never was one" * 200)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def delete(path: Path) -> None:
    path.unlink()


def set_place(path: Path, what: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE state SET value = x'0000000000000001'")  # is not to be believed
    connection.execute(f"UPDATE place SET {what}")
    connection.commit()
    connection.close()


def move_ahead(path: Path) -> None:
    set_place(path, "next_offset = 100000")


def change_topic(path: Path) -> None:
    set_place(path, "topic_id = x'0102'")


def age(path: Path) -> None:
    set_place(path, "complete_ms = complete_ms - 13 * 3600000")


@pytest.mark.parametrize(
    "spoil",
    [None, delete, damage, truncate, move_ahead, change_topic, age],
    ids=lambda each: getattr(each, "__name__", "untouched"),
)
def test_files_are_a_cache(servers: str, topic: str, tmp_path: Path, spoil: Any) -> None:
    fill(servers, topic, 100)
    app = counting(servers, topic, tmp_path, exactly_once=True)
    asyncio.run(handle(app, servers, topic, 100))
    found = files(tmp_path)
    assert len(found) == 4
    if spoil is not None:
        for each in found:
            spoil(each)
    fill(servers, topic, 100)
    app = counting(servers, topic, tmp_path, exactly_once=True)
    asyncio.run(handle(app, servers, topic, 200))
    assert totals(servers, topic) == {f"k{key}": 20 for key in range(KEYS)}
    assert files(tmp_path) == found


def test_a_folder_that_can_not_be_written_stops_the_handler(
    servers: str, topic: str, tmp_path: Path
) -> None:
    fill(servers, topic, 100)
    for each in range(4):
        (tmp_path / changelog(topic) / f"{each}.0.sqlite").mkdir(parents=True)
    with pytest.raises(InvalidArgument, match=r"can't be written.*state_directory"):
        asyncio.run(handle(counting(servers, topic, tmp_path), servers, topic, 100))


@both
def test_values_expire(servers: str, topic: str, tmp_path: Path, exactly_once: bool) -> None:
    app = App(servers, state_directory=tmp_path)

    @app.handler(topic, group=f"g-{topic}", name="count", exactly_once=exactly_once)
    def count(number: str, total: Annotated[State[int], Expires("1s")]) -> None:
        total.update(lambda old: old + 1, 0)

    async def main() -> None:
        async with app.started():
            await asyncio.to_thread(fill, servers, topic, 100)
            await wait_until_async(is_over)

    def is_over() -> bool:
        with barnabas.Admin(servers) as admin:
            committed = admin.group_offsets(f"g-{topic}")
        return sum(committed.values()) >= 100 and not totals(servers, topic)

    asyncio.run(main())
    assert totals(servers, topic) == {}


@both
def test_another_worker_restores_what_the_first_one_had(
    servers: str, topic: str, tmp_path: Path, exactly_once: bool
) -> None:
    async def main() -> None:
        first = counting(servers, topic, tmp_path / "1", exactly_once=exactly_once)
        second = counting(servers, topic, tmp_path / "2", exactly_once=exactly_once)
        async with first.started():
            await asyncio.to_thread(fill, servers, topic, 200)
            await handle(second, servers, topic, 200)  # they share the partitions, and it leaves
            await asyncio.to_thread(fill, servers, topic, 100)
            await wait_until_async(lambda: is_counted(300))

    def is_counted(count: int) -> bool:
        return sum(totals(servers, topic).values()) == count

    asyncio.run(main())
    assert totals(servers, topic) == {f"k{key}": 30 for key in range(KEYS)}


def test_a_changelog_whose_beginning_is_gone_stops_the_handler(
    servers: str, topic: str, tmp_path: Path
) -> None:
    fill(servers, topic, 100)
    app = counting(servers, topic, tmp_path, exactly_once=True)
    asyncio.run(handle(app, servers, topic, 100))
    with barnabas.Admin(servers) as admin:
        admin.set_configs({"cleanup.policy": "delete"}, topic=changelog(topic))
        ends = admin.offsets(changelog(topic), "latest")
        admin.delete_records({each: end - 2 for each, end in ends.items() if end > 2})
        admin.set_configs({"cleanup.policy": "compact"}, topic=changelog(topic))
    fill(servers, topic, 100)
    app = counting(servers, topic, tmp_path, exactly_once=True)  # the files have it all
    asyncio.run(handle(app, servers, topic, 200))
    app = counting(servers, topic, tmp_path / "other", exactly_once=True)
    with pytest.raises(StateLost, match="begins at offset"):
        asyncio.run(handle(app, servers, topic, 300))


def test_a_changelog_that_would_be_deleted_is_refused(
    servers: str, topic: str, tmp_path: Path
) -> None:
    with barnabas.Admin(servers) as admin:
        admin.create_topic(changelog(topic), partitions=4)
    app = counting(servers, topic, tmp_path)
    with pytest.raises(StateLost, match=r"cleanup\.policy=compact"):
        asyncio.run(handle(app, servers, topic, 100))


def test_partitions_that_were_added_are_refused(servers: str, topic: str, tmp_path: Path) -> None:
    fill(servers, topic, 100)
    app = counting(servers, topic, tmp_path)
    asyncio.run(handle(app, servers, topic, 100))
    with barnabas.Admin(servers) as admin:
        admin.add_partitions(topic, 6)
    with pytest.raises(StateLost, match=r"has 4 partitions, and .* has 6"):
        asyncio.run(handle(counting(servers, topic, tmp_path), servers, topic, 200))


def test_it_is_ready_when_the_state_is_restored(servers: str, topic: str, tmp_path: Path) -> None:
    fill(servers, topic, 100)
    app = counting(servers, topic, tmp_path, exactly_once=True)
    asyncio.run(handle(app, servers, topic, 100))
    reasons: Counter[str] = Counter()

    async def main() -> None:
        again = counting(servers, topic, tmp_path / "other", exactly_once=True)
        async with again.started():

            def look() -> bool:
                reasons.update(again.waits_for)
                return bool(reasons) and again.is_ready

            await wait_until_async(look)
            assert again.waits_for == []

    asyncio.run(main())
    assert any("restores the state of partition" in each for each in reasons)
