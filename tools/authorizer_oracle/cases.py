"""Questions for a real Kafka's StandardAuthorizer, and how its answers were obtained.

Each block of the output is one cluster:

    S SUPER_USERS ALLOW_IF_NO_ACL_FOUND               begins it; "-" for no super users
    R TYPE PATTERN NAME PRINCIPAL HOST OPERATION PERMISSION    one rule
    Q PRINCIPAL HOST OPERATION TYPE NAME              one request
    B PRINCIPAL HOST OPERATION TYPE                   the same for any resource of the type

Kafka adds " +" or " -" to each Q and B. With kafka-metadata 4.3.0 and what it depends on in libs/
(`mvn dependency:copy-dependencies -DoutputDirectory=libs`):

    python tools/authorizer_oracle/cases.py |
    java -cp 'libs/*' tools/authorizer_oracle/AskStandardAuthorizer.java \\
        > tests/security/authorizer/kafka_answers.txt
"""

from collections.abc import Iterator
from random import Random

_CLUSTERS = 260
_REQUESTS = 26
_BY_TYPE = 6
_PRINCIPALS = ("User:alice", "User:bob", "User:ann", "Group:alice")
_HOSTS = ("10.0.0.1", "10.0.0.2")
_NAMES = ("a", "ab", "abc", "abd", "b", "ba", "x-1", "x-2", "hardcode")
_PREFIXES = ("a", "ab", "b", "x-", "h", "hardcode-", "*")
_OPERATIONS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15)
_TYPES = (2, 2, 2, 3, 4, 5)
_LITERAL, _PREFIXED = 3, 4


def lines(seed: int = 43) -> Iterator[str]:
    random = Random(seed)
    for _ in range(_CLUSTERS):
        supers = random.choice(("-", "-", "-", "User:ann", "User:ann;User:root"))
        yield f"S {supers} {random.randint(0, 1)}"
        few_types = random.sample(_TYPES, random.randint(1, 2))
        few_operations = [*random.sample(_OPERATIONS[1:], random.randint(1, 4)), 2]
        seen = set()
        for _ in range(random.choice((0, 1, 2, 3, 5, 8))):
            rule = _rule(random, few_types, few_operations)
            if rule not in seen:
                seen.add(rule)
                yield rule
        for _ in range(_REQUESTS):
            operation = random.choice((*few_operations[:-1], 8, 8, 10, random.choice(_OPERATIONS)))
            yield f"Q {_client(random)} {operation} {random.choice(few_types)} " + (
                random.choice(_NAMES)
            )
        for _ in range(_BY_TYPE):
            operation = random.choice((4, 4, 8, *few_operations[:-1]))
            yield f"B {_client(random)} {operation} {random.choice(few_types)}"


def _rule(random: Random, types: list[int], operations: list[int]) -> str:
    if random.random() < 0.4:
        pattern = f"{_PREFIXED} {random.choice(_PREFIXES)}"
    else:
        pattern = f"{_LITERAL} {random.choice((*_NAMES, '*', '*', '*'))}"
    principal = random.choice((*_PRINCIPALS, "User:alice", "User:*"))
    host = random.choice((*_HOSTS, "*", "*"))
    permission = random.choice((2, 3, 3))
    resource_type = random.choice(types)
    return (
        f"R {resource_type} {pattern} {principal} {host} {random.choice(operations)} {permission}"
    )


def _client(random: Random) -> str:
    return f"{random.choice((*_PRINCIPALS, 'User:alice'))} {random.choice(_HOSTS)}"


if __name__ == "__main__":
    for line in lines():
        print(line)
