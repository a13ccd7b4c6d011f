"""Majorities: the one thing everything else rests on."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.raft import Voter, VoterSet
from barnabas.wire.endpoint import Endpoint
from tests.raft.single import voter_key

KEYS = [voter_key(number) for number in range(1, 7)]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_majorities_meet_also_across_a_change_by_one(size: int) -> None:
    before = VoterSet.of(KEYS[:size])
    for after in (before, before.with_voter(Voter(KEYS[size]))):
        for one in combinations(KEYS, before.majority):
            for other in combinations(KEYS, after.majority):
                if before.has_majority(one) and after.has_majority(other):
                    assert set(one) & set(other)


@given(st.dictionaries(st.sampled_from(KEYS), st.integers(0, 5)), st.integers(1, 6))
def test_what_a_majority_has_reached(values: dict, size: int) -> None:
    voters = VoterSet.of(KEYS[:size])
    reached = voters.majority_reached(values)
    assert voters.has_majority([key for key in KEYS if values.get(key, -1) >= reached])
    assert not voters.has_majority([key for key in KEYS if values.get(key, -1) > reached])


def test_nobody_is_no_majority() -> None:
    assert not VoterSet().has_majority(KEYS)
    assert VoterSet().majority_reached({KEYS[0]: 7}) == -1


def test_a_node_votes_once_and_under_its_own_directory() -> None:
    voters = VoterSet.of(KEYS[:2])
    wiped = voter_key(1, directory=9)
    assert wiped not in voters
    assert not voters.has_majority([wiped, KEYS[1]])
    with pytest.raises(ValueError, match="each once"):
        voters.with_voter(Voter(wiped))


def test_voters_come_and_go_with_their_endpoints() -> None:
    voter = Voter(KEYS[2], (Endpoint("CONTROLLER", "localhost", 9093),))
    voters = VoterSet.of(KEYS[:2]).with_voter(voter)
    assert voters.voters[2] == voter
    assert voters.without_voter(voter.key) == VoterSet.of(KEYS[:2])
