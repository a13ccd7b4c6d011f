"""How access rules are printed."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.cli.base.output import Cell
    from barnabas.metadata.acl import Acl


def in_json(acl: "Acl") -> dict[str, str]:
    """A rule with Kafka's names."""
    from barnabas.client.admin.acls import AclBinding

    return AclBinding.of(acl)._asdict()


def as_row(acl: "Acl") -> "tuple[Cell, ...]":
    rule = in_json(acl)
    return (
        rule["principal"],
        rule["host"],
        rule["permission"],
        rule["operation"],
        rule["resource_type"],
        rule["resource_name"],
        rule["pattern_type"],
    )


def as_sentence(acl: "Acl") -> str:
    """`ALLOW User:alice READ on topic orders`."""
    rule = in_json(acl)
    kind = rule["resource_type"].lower().replace("_", " ")
    name = rule["resource_name"]
    if rule["resource_type"] == "CLUSTER":
        about = "the cluster"
    elif rule["pattern_type"] == "PREFIXED":
        about = f"every {kind} that begins with {name}"
    elif name == "*":
        about = f"every {kind}"
    else:
        about = f"{kind} {name}"
    where = "" if rule["host"] == "*" else f" from {rule['host']}"
    return f"{rule['permission']} {rule['principal']} {rule['operation']} on {about}{where}"
