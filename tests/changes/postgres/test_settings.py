"""Settings: each is used or refused, with what to write."""

import pytest

from barnabas.changes.postgres.position import position_of
from barnabas.changes.postgres.settings import SETTINGS, change_settings, default_slot
from barnabas.errors import InvalidArgument

LEAST = {"database.dbname": "shop", "topic.prefix": "shop"}


def test_defaults() -> None:
    settings = change_settings(LEAST)
    assert settings.slot_name == settings.publication_name == "barnabas_shop"
    assert settings.snapshot_mode == "initial"
    assert settings.skipped_operations == {"t"}
    assert settings.representation.decimal == "precise"
    assert default_slot("My.Shop-2" + "x" * 80) == ("barnabas_my_shop_2" + "x" * 80)[:63]


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("topic.prefix", "", "set topic.prefix: the name that topics start with"),
        ("topic.prefix", "a b", "use letters, digits"),
        ("database.dbname", "", "set database.dbname"),
        ("database.port", "x", "database.port='x': use a number, 1 to 65535"),
        ("database.port", "70000", "use a number, 1 to 65535"),
        ("slot.name", "My-Slot", "at most 63 lower-case letters"),
        ("snapshot.mode", "custom", "use initial, initial_only, no_data, always or when_needed"),
        ("decimal.handling.mode", "plain", "use precise, double or string"),
        ("tombstones.on.delete", "yes", "use true or false"),
        ("skipped.operations", "x", "use none, or some of c, u, d, t"),
        ("table.include.list", "public.(", "is not a regular expression"),
        ("table.whitelist", "a", "is not supported: use table.include.list"),
        ("plugin.name", "decoderbufs", "only pgoutput is supported"),
        ("table.includes.list", "a", "did you mean table.include.list"),
        ("colour", "red", "unknown setting 'colour': leave it out"),
    ],
)
def test_a_wrong_setting_is_named_with_what_to_write(name: str, value: str, complaint: str) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        change_settings({**LEAST, name: value})


def test_settings_that_have_one_value_here_are_accepted() -> None:
    change_settings({**LEAST, "plugin.name": "pgoutput", "tasks.max": "1"})
    assert change_settings({**LEAST, "snapshot.mode": "never"}).snapshot_mode == "no_data"
    assert change_settings({**LEAST, "skipped.operations": "none"}).skipped_operations == set()
    assert all(name == name.lower() for name in SETTINGS)


def test_tables_and_columns_are_chosen_by_whole_names() -> None:
    tables = change_settings(
        {
            **LEAST,
            "table.include.list": r"public\.orders, shop\..*",
            "table.exclude.list": "shop.old",
            "column.exclude.list": ".*password",
        }
    ).tables
    assert tables.has_table("public", "orders")
    assert tables.has_table("PUBLIC", "Orders")
    assert not tables.has_table("public", "orders_2")
    assert tables.has_table("shop", "new")
    assert not tables.has_table("shop", "old")
    assert not tables.has_table("pg_catalog", "pg_class")
    assert not tables.has_column("public", "orders", "password")
    assert tables.has_column("public", "orders", "password_age")


@pytest.mark.parametrize(
    "saved", [{}, {"lsn": 7}, {"lsn": "x"}, {"lsn": "0/1", "snapshot": {}}, {"views": {"0": 1}}]
)
def test_what_is_no_position_is_refused(saved: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument, match="position"):
        position_of(saved)
