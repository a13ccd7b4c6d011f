"""A topic as a table of keys: current, also after crashes, compaction, deletion and recreation."""

import asyncio
import secrets
from contextlib import suppress

import pytest

import barnabas
from barnabas.errors import ClientClosed, RequestTimedOut, TableNotLoaded, UnknownTopic
from tests.conftest import MakeBroker
from tests.support.wait import wait_until


def new_topic(bootstrap: str, **configs: str) -> str:
    name = f"table-{secrets.token_hex(4)}"
    settings = {"cleanup.policy": "compact", **configs}
    with barnabas.Admin(bootstrap) as admin:
        admin.create_topic(name, partitions=2, configs=settings)
    return name


def put(bootstrap: str, topic: str, **values: str | None) -> None:
    with barnabas.Producer(bootstrap, key_format="str", value_format="str") as producer:
        for key, value in values.items():
            producer.send(topic, value, key=key)


def table_of(bootstrap: str, topic: str) -> barnabas.Table:
    return barnabas.Table(bootstrap, topic, key_format="str", value_format="str")


def test_it_has_the_last_value_of_each_key_and_follows(bootstrap: str) -> None:
    topic = new_topic(bootstrap)
    put(bootstrap, topic, apple="1", pear="2", plum="3")
    put(bootstrap, topic, apple="4", plum=None)
    with table_of(bootstrap, topic) as table:
        assert dict(table.items()) == {"apple": "4", "pear": "2"}
        assert (table["apple"], table.get("plum"), table.get("plum", "none")) == ("4", None, "none")
        assert ("pear" in table, "plum" in table, len(table)) == (True, False, 2)
        assert sorted(table) == ["apple", "pear"]
        with pytest.raises(KeyError):
            table["plum"]

        put(bootstrap, topic, plum="5", pear=None)
        table.wait_until_current()
        assert dict(table.items()) == {"apple": "4", "plum": "5"}
    with pytest.raises(ClientClosed):
        table.get("apple")


def test_only_committed_values_are_there(bootstrap: str) -> None:
    topic = new_topic(bootstrap)
    with (
        barnabas.Producer(bootstrap, transactional_id=f"id-{topic}") as producer,
        barnabas.Table(bootstrap, topic) as table,
        barnabas.Table(bootstrap, topic, isolation="read_uncommitted") as all_of_it,
    ):
        with producer.transaction():
            producer.send(topic, b"1", key=b"a")
        table.wait_until_current()
        assert table[b"a"] == b"1"
        with suppress(ZeroDivisionError), producer.transaction():
            producer.send(topic, b"2", key=b"a").result()
            all_of_it.wait_until_current()
            assert all_of_it[b"a"] == b"2"
            raise ZeroDivisionError
        table.wait_until_current()  # behind the marker that nobody sees
        assert table[b"a"] == b"1"


def test_a_transaction_that_is_open_can_be_waited_for(bootstrap: str) -> None:
    """What it commits may be known already by the offsets that it commits with it."""
    topic = new_topic(bootstrap)
    with (
        barnabas.Producer(bootstrap, transactional_id=f"id-{topic}") as producer,
        barnabas.Table(bootstrap, topic) as table,
    ):
        with producer.transaction():
            producer.send(topic, b"1", key=b"a").result()
            table.wait_until_current()
            assert b"a" not in table
            with pytest.raises(RequestTimedOut):
                table.wait_until_current(0.5, open_transactions=True)
        table.wait_until_current(open_transactions=True)
        assert table[b"a"] == b"1"
        with suppress(ZeroDivisionError), producer.transaction():
            producer.send(topic, b"2", key=b"a").result()
            raise ZeroDivisionError
        table.wait_until_current(open_transactions=True)
        assert table[b"a"] == b"1"


def test_for_asyncio_as_well(bootstrap: str) -> None:
    topic = new_topic(bootstrap)
    put(bootstrap, topic, apple="1")

    async def main() -> None:
        async with barnabas.aio.Table(bootstrap, topic, value_format="json") as table:
            assert table[b"apple"] == 1
            async with barnabas.aio.Producer(bootstrap) as producer:
                await producer.send(topic, b"[2]", key=b"pear")
            await table.wait_until_current()
            assert list(table.items()) == [(b"apple", 1), (b"pear", [2])]

    asyncio.run(main())


def test_what_is_asked_too_early_or_does_not_exist(bootstrap: str) -> None:
    topic = new_topic(bootstrap)
    table = table_of(bootstrap, topic)
    try:
        with pytest.raises(TableNotLoaded, match="wait_until_current"):
            len(table)
        table.wait_until_current()
        assert len(table) == 0
        with pytest.raises(TypeError, match="None is no key"):
            table.get(None)
    finally:
        table.close()
    with pytest.raises(UnknownTopic), table_of(bootstrap, "no-such-topic"):
        pass


def test_a_broker_that_is_killed_and_comes_back(make_broker: MakeBroker) -> None:
    broker = make_broker()
    topic = new_topic(broker.bootstrap)
    put(broker.bootstrap, topic, apple="1", pear="2")
    with table_of(broker.bootstrap, topic) as table:
        broker.kill()
        assert table["apple"] == "1"
        with pytest.raises(RequestTimedOut, match="not read to its end"):
            table.wait_until_current(0.2)
        broker.start()
        put(broker.bootstrap, topic, apple="3", pear=None)
        table.wait_until_current()
        assert dict(table.items()) == {"apple": "3"}


def test_a_topic_that_is_compacted_emptied_or_made_anew(make_broker: MakeBroker) -> None:
    broker = make_broker(log_cleaner_backoff_ms="50", log_segment_delete_delay_ms="0")
    fast = {"min.cleanable.dirty.ratio": "0.01", "segment.ms": "50", "delete.retention.ms": "0"}
    topic = new_topic(broker.bootstrap, **fast)
    with table_of(broker.bootstrap, topic) as table, barnabas.Admin(broker.bootstrap) as admin:
        for number in range(100):
            put(broker.bootstrap, topic, apple=str(number), pear=str(number))
        put(broker.bootstrap, topic, pear=None)
        table.wait_until_current()
        assert dict(table.items()) == {"apple": "99"}
        wait_until(lambda: _records(broker.bootstrap, topic) < 100, "it is not compacted")
        with table_of(broker.bootstrap, topic) as another:
            assert dict(another.items()) == {"apple": "99"}

        admin.delete_topic(topic)
        wait_until(lambda: topic not in admin.topics())
        admin.create_topic(topic, partitions=1, configs={"cleanup.policy": "compact"})
        put(broker.bootstrap, topic, plum="1")
        wait_until(lambda: dict(table.items()) == {"plum": "1"}, "the old values are still there")
        table.wait_until_current()
        assert dict(table.items()) == {"plum": "1"}


def _records(bootstrap: str, topic: str) -> int:
    count = 0
    with barnabas.Consumer(bootstrap, topic) as consumer:
        while polled := consumer.poll(0.3):
            count += len(polled)
    return count
