"""Patterns mean what they mean in Python, as far as both know them, and take linear time."""

import re

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from barnabas.regex import InvalidPattern, LinearPattern
from tests.support.steps import at_most_steps

CHARACTERS = "abAB1._-éÉψ[]"
atoms = st.sampled_from(
    [
        r"a",
        r"b",
        r"A",
        r"1",
        r"\.",
        r".",
        r"[ab]",
        r"[^a]",
        r"[a-c1]",
        r"\d",
        r"\w",
        r"[^\d]",
        r"(a|b)",
        r"(?:ab)",
        r"()",
        r"^",
        r"$",
        r"[\w.]",
        r"(?i:ab)",
        r"[]a]",
        r"[a\-b]",
        r"\x61",
        r"-",
        r"é",
        r"[λ-ψ]",
        r"\W",
        r"[]a]",
        r"[a-]",
    ]
)
quantifiers = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "{0,}", "*?"])
pieces = st.tuples(atoms, quantifiers).map("".join)
sequences = st.lists(pieces, max_size=4).map("".join)
patterns = st.lists(sequences, min_size=1, max_size=3).map("|".join)
names = st.lists(st.text(CHARACTERS, max_size=5), min_size=1, max_size=8)


@given(patterns, names)
def test_as_in_python(pattern: str, candidates: list[str]) -> None:
    try:
        expected = re.compile(pattern, re.ASCII)
    except re.error:
        reject()  # Python repeats no anchors
    found = LinearPattern(pattern)
    for name in candidates:
        assert found.matches(name) == (expected.fullmatch(name) is not None), (pattern, name)


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (r"orders-.*", "orders-eu", "my-orders-eu"),
        (r"(?i)Orders", "oRDERS", "order"),
        (r"[[:alpha:]]+", "abc", "a1"),
        (r"[[:^digit:]]*", "abc", "a1"),
        (r"\Qa.b\E+", "a.bb", "axb"),
        (r"(?P<name>a)|(?<other>b)", "b", "c"),
        (r"\Aa\z", "a", "aa"),
        (r"a{2", "a{2", "aa"),
        (r"", "", "a"),
        (r"(?s).", "\n", ""),
        (r"[[:^ascii:]]+", "ÿ\U0001f600", "a"),
        (r"(?i)[λ-ψ]+", "Λψ", "y"),
        (r"(?i)É[^é]", "éE", "ÉÉ"),
    ],
)
def test_what_python_writes_otherwise(pattern: str, matching: str, other: str) -> None:
    assert LinearPattern(pattern).matches(matching)
    assert not LinearPattern(pattern).matches(other)


REFUSED = (
    r"( ) [ a** * {2} [z-a] (a)\1 (?=a) (?<!a) \b \pL a{1001} a{2,1} [[:x:]] \ \x (?P<a (?P<1>a)"
)


@pytest.mark.parametrize("pattern", [*REFUSED.split(), "(" * 60 + ")" * 60])
def test_what_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidPattern):
        LinearPattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "".join(chr(0x100 + number % 5_000) for number in range(32_767)),
        "[" + "a" * 32_000 + "]",
        "|" * 32_767,
        "|" * 3_999,
        "a{0}" * 999,
    ],
    ids=["characters", "class", "long", "alternatives", "repetitions"],
)
def test_a_long_pattern_is_refused_before_all_of_it_is_parsed(pattern: str) -> None:
    with at_most_steps(120_000), pytest.raises(InvalidPattern):
        LinearPattern(pattern, 300)


def test_large_patterns_are_refused() -> None:
    with pytest.raises(InvalidPattern, match="too large"):
        LinearPattern("((a{30}){30}){30}")


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|aa)+b", "(a?){200}a{200}b", "(.*a.{9}){9}b"])
def test_hostile_patterns(pattern: str) -> None:
    with at_most_steps(2_000_000):  # backtracking takes years
        assert not LinearPattern(pattern).matches("a" * 249)


def test_repetitions_of_nothing_take_no_time() -> None:
    with at_most_steps(1_000_000), pytest.raises(InvalidPattern, match="too large"):
        LinearPattern("((((){999}){999}){999}){999}")


def test_what_is_kept_of_matches_is_limited() -> None:
    pattern = LinearPattern(".{0,400}")
    letters = "abcdefghijklmnopqrstuvwxyz"
    for start in range(26):
        assert pattern.matches((letters[start:] + letters) * 4)
    kept = sum(len(after) for after in pattern._steps.values())
    assert kept <= 51_000
