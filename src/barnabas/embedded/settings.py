"""Settings of a cluster under test."""

from collections.abc import Mapping

Setting = str | int | float | bool

FOR_TESTS: Mapping[str, str] = {
    # Tests start many groups of one member, and few groups at a time.
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "group.min.session.timeout.ms": "100",
    "metrics.listeners": "",
}
"""What differs from `barnabas server`, unless it is set otherwise."""

_OURS = frozenset(
    {"node.id", "listeners", "advertised.listeners", "log.dirs", "controller.quorum.voters"}
)


def properties_of(settings: Mapping[str, Setting]) -> dict[str, str]:
    """What every node gets. Raises ValueError for what a cluster decides by itself."""
    given = {name: as_text(value) for name, value in settings.items()}
    for name in sorted(_OURS & given.keys()):
        raise ValueError(
            f"{name} cannot be set: Cluster chooses it for each node; leave it out, and use "
            "attributes of the cluster such as bootstrap_servers"
        )
    return {**FOR_TESTS, **given}


def as_text(value: Setting) -> str:
    """As in a file of properties."""
    return str(value).lower() if isinstance(value, bool) else str(value)
