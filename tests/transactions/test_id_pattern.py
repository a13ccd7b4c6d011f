"""Patterns of transactional ids, compared with Python's own engine where that is harmless."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from barnabas.transactions.id_pattern import IdPattern, InvalidPattern
from tests.support.steps import at_most_steps

atoms = st.sampled_from(
    ["a", "b", "-", ".", "[ab]", "[^a]", "[]a]", "[a-]", r"\d", r"\W", r"\.", r"[\d.]"]
)
quantifiers = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,}", "{0,2}", "*?", "+?"])
patterns = st.recursive(
    st.builds("{}{}".format, atoms, quantifiers) | st.sampled_from(["^", "$"]),
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("{}|{}".format, inner, inner),
        st.builds("({}){}".format, inner, quantifiers),
        st.builds("(?:{}){}".format, inner, quantifiers),
    ),
    max_leaves=5,
)


@given(patterns, st.lists(st.text("ab-.1é\n[]", max_size=6), min_size=1, max_size=5))
def test_it_matches_what_python_matches(pattern: str, texts: list[str]) -> None:
    theirs = re.compile(pattern, re.ASCII)
    ours = IdPattern(pattern)
    for text in texts:
        assume(not ("$" in pattern and "\n" in text))  # there, Python looks before a last newline
        assert ours.matches(text) == (theirs.fullmatch(text) is not None)


def test_all_of_it_has_to_match() -> None:
    assert IdPattern("orders-.*").matches("orders-1")
    assert not IdPattern("orders-").matches("orders-1")
    assert not IdPattern("rders-1").matches("orders-1")
    assert IdPattern("").matches("")
    assert not IdPattern("").matches("a")


def test_case_may_not_matter() -> None:
    assert IdPattern("(?i)Orders-[a-z]").matches("oRDERS-X")
    assert not IdPattern("Orders").matches("orders")


@pytest.mark.parametrize(
    "pattern",
    [
        *["(", ")", "a)", "(a", "[", "[a", "[]", "\\", "*", "a|*", "(+)", "a**", "a{3,2}"],
        "a{2}{3}",
        *["[z-a]", r"\1", r"\b", r"\pL", "(?=a)", "(?P<n>a)", "(?<!a)", "(?m)a", "[[:alpha:]]"],
        "((a{99}){99}){99}",
        "((){9999}){9999}",
        "(" * 2_000,
    ],
)
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(InvalidPattern):
        IdPattern(pattern)


@pytest.mark.parametrize("pattern", ["(a+)+", "(a|a)*", "(a*)*b", "a*a*a*a*a*a*b", "(.*a){12}"])
def test_no_pattern_takes_for_ever(pattern: str) -> None:
    text = "a" * 2_000
    with at_most_steps(1_000_000):
        assert not IdPattern(pattern).matches(text + "!")


def test_what_is_remembered_is_bounded() -> None:
    pattern = IdPattern("(.*a){3}")
    for number in range(20_000):
        pattern.matches(chr(0x4E00 + number))
    assert len(pattern._remembered) <= 10_000
    assert pattern.matches("xaxaxa")


@pytest.mark.parametrize(
    "pattern",
    [
        "".join(chr(0x100 + number % 5_000) for number in range(32_767)),
        "[" + "a" * 32_000 + "]",
        "|" * 32_767,
        "a{0}" * 900,
    ],
    ids=["characters", "class", "alternatives", "repetitions"],
)
def test_a_long_pattern_is_refused_before_all_of_it_is_parsed(pattern: str) -> None:
    with at_most_steps(40_000), pytest.raises(InvalidPattern):
        IdPattern(pattern)
