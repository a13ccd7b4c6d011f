"""The index finds the rules that comparing every one of them finds."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.acl import Acl, AclFilter
from barnabas.security.authorizer.rule_index import RuleIndex
from barnabas.wire.acl_codes import AclOperation, AclPermission, PatternType, ResourceType

_NAMES = st.text("ab*é", max_size=6)
_ACLS = st.builds(
    Acl,
    st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]),
    _NAMES,
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    st.sampled_from(["User:a", "User:*"]),
    st.just("*"),
    st.just(AclOperation.READ),
    st.just(AclPermission.ALLOW),
)


@given(st.lists(_ACLS, unique=True, max_size=30), st.lists(_NAMES, max_size=5), st.data())
def test_rules_are_found_as_by_comparing_all(
    acls: list[Acl], names: list[str], data: st.DataObject
) -> None:
    index = RuleIndex()
    kept: list[Acl] = []
    for acl in acls:
        index.add(acl)
        kept.append(acl)
        if data.draw(st.booleans()):
            index.remove(kept.pop(data.draw(st.integers(0, len(kept) - 1))))
        _compare(index, kept, [*names, acl.resource_name])


def _compare(index: RuleIndex, kept: list[Acl], names: list[str]) -> None:
    for kind in (ResourceType.TOPIC, ResourceType.GROUP):
        for name in names:
            wanted = AclFilter(kind, name, PatternType.MATCH)
            expected = sorted(acl for acl in kept if wanted.matches(acl))
            assert sorted(rule.acl for rule in index.concerning(kind, name)) == expected
            for principal in ("User:a", "User:*", "User:b"):
                found = sorted(rule.acl for rule in index.about(principal, kind, name))
                assert found == [acl for acl in expected if acl.principal == principal]
        of_a = sorted(rule.acl for rule in index.all_about("User:a", kind))
        assert of_a == sorted(
            acl for acl in kept if acl.resource_type == kind and acl.principal == "User:a"
        )
