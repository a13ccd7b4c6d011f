"""`ssl.principal.mapping.rules`, with the examples of Kafka's documentation and tests."""

import pytest

from barnabas.security.principal_rules import PrincipalRules

RULES = (
    r"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,"
    r"RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,"
    r"RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U,"
    "DEFAULT"
)


@pytest.mark.parametrize(
    ("name", "principal"),
    [
        ("CN=duke,OU=ServiceUsers,O=Org,C=US", "duke"),
        ("CN=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke@sme"),
        ("cn=duke,ou=JavaSoft,o=Sun Microsystems", "DUKE"),
        ("OU=JavaSoft,O=Sun Microsystems,C=US", "OU=JavaSoft,O=Sun Microsystems,C=US"),
    ],
)
def test_the_first_match_decides(name: str, principal: str) -> None:
    assert PrincipalRules(RULES).name_of(name) == principal


@pytest.mark.parametrize(
    ("rules", "name", "principal"),
    [
        ("DEFAULT", "CN=alice", "CN=alice"),
        ("RULE:^CN=(.*)$/$1/", "OU=x", None),
        ("RULE:CN=(.*)/$1/", "O=x,CN=alice", None),
        (r"RULE:CN=(.*)\/x/$1\/y/", "CN=a/x", "a/y"),
        (" RULE:CN=(.*)/$1/ , DEFAULT ", "CN=a", "a"),
        ("RULE:CN=(.*)/$1$9/", "CN=a", "a$9"),
        (r"RULE:CN=(.*)/\$1/", "CN=a", "$1"),
        ("RULE:CN=(.*),O=(x)?.*/$1-$2/U", "CN=a,O=y", "A-"),
    ],
)
def test_rules(rules: str, name: str, principal: str | None) -> None:
    assert PrincipalRules(rules).name_of(name) == principal


@pytest.mark.parametrize(
    "text", ["", "default", "RULE:x", "RULE:(/x/", "DEFAULT,RULE", "RULE:a/b/X"]
)
def test_what_is_no_rule(text: str) -> None:
    with pytest.raises(ValueError, match=r"rule|regular expression"):
        PrincipalRules(text)
