"""Signals of whoever may write them: none stops the stream."""

import json

import pytest

from barnabas.changes.signals import Signal, SignalledTable, Wanted, followed

TABLE = SignalledTable("t", "public." + "a" * 60, has_key=True)


def signal(data: str) -> Wanted:
    return followed(Signal("1", "execute-snapshot", data), None, [TABLE], 0)


def test_tables_are_found_by_a_pattern() -> None:
    found = signal(json.dumps({"data-collections": [r"public\.a+"]})).rest
    assert found is not None
    assert found.tables == ("t",)


@pytest.mark.parametrize("pattern", ["(.+)+x", "(a|a)*x", "public.(?=a)", "("])
def test_a_pattern_that_would_take_for_ever_is_ignored(pattern: str) -> None:
    assert signal(json.dumps({"data-collections": [pattern]})).rest is None


def test_data_that_is_nested_too_deeply_is_ignored() -> None:
    assert signal("[" * 100_000).rest is None
