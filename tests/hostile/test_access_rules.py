"""The largest requests of users on a cluster with thousands of access rules.

Each name in a request is judged. Carol has no rights, so everything is refused; alice has rights by
rules for prefixes, among those of a thousand other users.
"""

from collections.abc import Iterator

import pytest

from barnabas.wire.acl_codes import AclOperation, AclPermission, PatternType, ResourceType
from barnabas.wire.messages.create_acls import AclCreation, CreateAclsRequest
from tests.broker.raw_client import RawClient
from tests.broker.verbs import create_topic, find_coordinator
from tests.hostile.largest_fields import frame, of_many_elements
from tests.hostile.largest_requests import check
from tests.hostile.measured_broker import MeasuredNode
from tests.support.access import AUTHORIZER
from tests.support.sasl import PLAIN_PASSWORD, sign_in

_PASSWORDS = {"carol": "hatter", "alice": PLAIN_PASSWORD}
_KINDS = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
_NAME = "n-00000"
"""Names in the requests begin with it."""


def _rules() -> list[AclCreation]:
    """More than 4,000: of other users for the same names, alice's for prefixes that are not in the
    requests, and those that give alice everything."""

    def rule(kind: int, name: str, user: str, pattern: int = PatternType.PREFIXED) -> AclCreation:
        return AclCreation(
            kind, name, pattern, f"User:{user}", "*", AclOperation.ALL, AclPermission.ALLOW
        )

    made = [rule(ResourceType.CLUSTER, "kafka-cluster", "alice", PatternType.LITERAL)]
    for kind in _KINDS:
        made += [rule(kind, _NAME[: 1 + number % 7], f"other-{number}") for number in range(700)]
        made += [
            rule(kind, f"{_NAME}{'1' * (number % 40)}x{number}", "alice") for number in range(700)
        ]
        made += [rule(kind, name, "alice") for name in (_NAME, "n", "t", "g", "x", "s")]
    return made


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeasuredNode]:
    settings = {**AUTHORIZER, "super.users": "User:ANONYMOUS"}
    with MeasuredNode(tmp_path_factory.mktemp("rules"), settings) as node:
        with RawClient(node.host, node.port) as client:
            create_topic(client, "t")
            find_coordinator(client, "g")
            made = client.ask(CreateAclsRequest(_rules()))
            assert not any(result.error_code for result in made.results)
        yield node
        node.stop()
        assert "Traceback" not in node.log.read_text(), node.log_tail()


_CASES = list(of_many_elements())


@pytest.mark.parametrize("api", sorted({case.api for case in _CASES}))
@pytest.mark.parametrize("user", _PASSWORDS)
def test_judging_many_names_keeps_no_other_client_waiting(
    node: MeasuredNode, api: str, user: str
) -> None:
    def connect() -> RawClient:
        client = node.connect(timeout_s=60)
        assert not sign_in(client, "PLAIN", user, _PASSWORDS[user]).error_code
        return client

    for case in _CASES:
        if case.api == api:
            check(f"{user}: {case}", [node], frame(case), connect)
