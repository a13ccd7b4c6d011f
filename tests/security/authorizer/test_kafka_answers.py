"""Thousands of requests, answered as a real Kafka 4.3 answered them.

`tools/authorizer_oracle/cases.py` has the format, and how the answers were obtained.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.metadata.acl import Acl
from barnabas.security.authorizer.access_cache import AccessCache
from barnabas.security.authorizer.standard_authorizer import StandardAuthorizer
from barnabas.security.principal import Principal

ANSWERS = Path(__file__).with_name("kafka_answers.txt")


def blocks() -> Iterator[list[list[str]]]:
    block: list[list[str]] = []
    for line in ANSWERS.read_text().splitlines():
        if line.startswith("S ") and block:
            yield block
            block = []
        block.append(line.split(" "))
    yield block


def started(first: list[str]) -> StandardAuthorizer:
    supers = [] if first[1] == "-" else map(Principal.parse, first[1].split(";"))
    return StandardAuthorizer(supers, allow_if_no_acl_found=first[2] == "1")


def rule(part: list[str]) -> Acl:
    return Acl(int(part[1]), part[3], int(part[2]), part[4], part[5], int(part[6]), int(part[7]))


def wrong_answers(authorizer: StandardAuthorizer, questions: list[list[str]]) -> list[list[str]]:
    wrong = []
    for part in questions:
        access = AccessCache(authorizer).add(Principal.parse(part[1]), part[2])
        operation, resource_type = int(part[3]), int(part[4])
        if part[0] == "Q":
            allowed = access.allows(operation, resource_type, part[5])
        else:
            allowed = access.allows_any(operation, resource_type)
        if allowed != (part[-1] == "+"):
            wrong.append(part)
    return wrong


def test_every_answer_is_that_of_kafka() -> None:
    asked = 0
    for block in blocks():
        authorizer = started(block[0])
        rules = [rule(part) for part in block if part[0] == "R"]
        for acl in rules:
            authorizer.add(acl)
        questions = [part for part in block if part[0] in "QB"]
        assert wrong_answers(authorizer, questions) == [], block
        asked += len(questions)
    assert asked > 8_000


def test_a_rule_that_was_removed_decides_nothing() -> None:
    """Rules of another cluster come and go before the questions are asked."""
    before: list[Acl] = []
    for block in blocks():
        authorizer = started(block[0])
        rules = [rule(part) for part in block if part[0] == "R"]
        for acl in [*before, *rules]:
            authorizer.add(acl)
        for acl in before:
            authorizer.remove(acl)
        assert wrong_answers(authorizer, [part for part in block if part[0] in "QB"]) == []
        before = rules


@pytest.mark.parametrize("forgotten", ["deny", "host", "principal"])
def test_the_answers_notice_a_wrong_rule(forgotten: str) -> None:
    wrong = 0
    for block in blocks():
        authorizer = started(block[0])
        for part in block:
            if part[0] == "R":
                acl = rule(part)
                if forgotten == "deny":
                    acl = acl._replace(permission=3)
                elif forgotten == "host":
                    acl = acl._replace(host="*")
                else:
                    acl = acl._replace(principal="User:*")
                authorizer.add(acl)
        wrong += len(wrong_answers(authorizer, [part for part in block if part[0] in "QB"]))
    assert wrong > 50
