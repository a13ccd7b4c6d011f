"""The quorum of the metadata log."""

from collections.abc import Iterator

from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, critical, note, warning

_BEHIND_MS = 5_000
_SAFE = 3


def size(facts: Facts) -> Iterator[Finding]:
    """Two voters tolerate no loss, so one of them could as well be spared."""
    if facts.status.quorum is None:
        return
    voters = len(facts.status.quorum.voters)
    if voters == 2:
        yield critical(
            "quorum",
            "2 voters: the loss of either stops the cluster",
            "add a third node and let it vote: barnabas cluster add-node ID",
        )
    elif voters == 1 and len(facts.status.nodes) >= _SAFE:
        yield warning(
            "quorum",
            f"1 voter of {len(facts.status.nodes)} nodes: its loss stops the cluster",
            "let two more nodes vote: barnabas cluster add-node ID",
        )
    elif voters % 2 == 0:
        yield note(
            "quorum",
            f"{voters} voters tolerate no more failures than {voters - 1}",
            "add one voter or remove one: barnabas cluster add-node ID",
        )


def lagging_voters(facts: Facts) -> Iterator[Finding]:
    for voter in facts.status.quorum.voters if facts.status.quorum is not None else []:
        if voter.behind_ms is not None and voter.behind_ms >= _BEHIND_MS:
            yield warning(
                "quorum",
                f"voter {voter.node_id} is {voter.behind_ms // 1000} s behind",
                f"see the log of node {voter.node_id}: it is down, overloaded or cut off",
            )


def lost_disks(facts: Facts) -> Iterator[Finding]:
    for voter in facts.status.quorum.voters if facts.status.quorum is not None else []:
        if voter.has_lost_disk:
            yield warning(
                "quorum",
                f"voter {voter.node_id} came back with an empty directory, which has no vote",
                f"barnabas cluster add-node {voter.node_id}",
            )
