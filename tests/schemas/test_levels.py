"""Which versions a new schema is compared with, and in which direction."""

import pytest

from barnabas.schemas.compatibility import Compatibility, check
from tests.schemas.making import avro, record

NONE = avro(record(("a", "int")))
WITHOUT_DEFAULT = avro(record(("a", "int"), ("b", "int")))
WITH_DEFAULT = avro(record(("a", "int"), ("b", "int", 0)))


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("NONE", []),
        ("BACKWARD", []),
        ("BACKWARD_TRANSITIVE", [(1, "Order.b")]),
        ("FORWARD", []),
        ("FORWARD_TRANSITIVE", []),
        ("FULL", []),
        ("FULL_TRANSITIVE", [(1, "Order.b")]),
    ],
)
def test_transitive_levels_compare_with_all_versions(
    level: str, expected: list[tuple[int, str]]
) -> None:
    found = check(WITHOUT_DEFAULT, [(1, NONE), (4, WITH_DEFAULT)], Compatibility(level))
    assert [(each.version, each.field) for each in found] == expected


@pytest.mark.parametrize(
    ("level", "forbidden"),
    [("NONE", False), ("BACKWARD", True), ("FORWARD", False), ("FULL", True)],
)
def test_the_direction_is_that_of_the_level(level: str, forbidden: bool) -> None:
    added = check(WITHOUT_DEFAULT, [(1, NONE)], Compatibility(level))
    assert bool(added) == forbidden
    removed = check(NONE, [(1, WITHOUT_DEFAULT)], Compatibility(level))
    assert bool(removed) == (level in {"FORWARD", "FULL"})


def test_the_latest_version_comes_first_and_messages_name_the_version() -> None:
    found = check(WITHOUT_DEFAULT, [(1, NONE), (2, NONE)], Compatibility.BACKWARD_TRANSITIVE)
    assert [each.version for each in found] == [2, 1]
    assert str(found[0]).endswith('"default": 0 (version 2)')


def test_a_first_version_is_compared_with_nothing() -> None:
    assert check(NONE, [], Compatibility.FULL_TRANSITIVE) == []
