"""Conditions on rows of state: simple ones are decided here, all others are left to Spark."""

from decimal import Decimal

import pytest

from barnabas.spark.pipelines.state_files.condition import matching
from barnabas.spark.pipelines.state_files.unreadable import UnreadableState

COLUMNS = ["word", "Count", "share", "flag"]
ROWS = [["a", 1, 0.5, True], ["b", 2, Decimal("1.50"), False], [None, 3, None, None]]


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("word = 'a'", ["a"]),
        ("word != 'a'", ["b"]),
        ("count >= 2", ["b", None]),
        ("COUNT>1 and word<>'x'", ["b"]),
        ("share = 1.5", ["b"]),
        ("`share` < 1 AND word == 'a' AND count = 1", ["a"]),
        ("count > -1 AND count < 0", []),
    ],
)
def test_comparisons_are_decided_here(condition: str, words: list[str | None]) -> None:
    assert [row[0] for row in matching(ROWS, COLUMNS, condition)] == words


@pytest.mark.parametrize(
    "condition",
    [
        "word LIKE 'a%'",
        "word = 'a' OR count = 2",
        "word = 'it\\'s'",
        "word = count",
        "other = 1",
        "word = 1",
        "count = '1'",
        "flag = 1",
        "word = 'a' AND",
        "",
    ],
)
def test_the_rest_is_left_to_spark(condition: str) -> None:
    with pytest.raises(UnreadableState):
        list(matching(ROWS, COLUMNS, condition))


def test_two_columns_of_one_name_are_left_to_spark() -> None:
    with pytest.raises(UnreadableState, match="no single column 'n'"):
        list(matching([[1, 2]], ["n", "N"], "n = 1"))
