"""Open files: each connection and each segment in use takes one."""

from collections.abc import Iterator

from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, critical

_PERCENT = 85


def near_limit(facts: Facts) -> Iterator[Finding]:
    for node in facts.nodes:
        if not node.open_files or not node.max_files:
            continue
        percent = 100 * node.open_files // node.max_files
        if percent >= _PERCENT:
            yield critical(
                "open files",
                f"node {node.node_id} has {node.open_files:,} of {node.max_files:,} files open",
                "raise the limit (systemd: LimitNOFILE=1048576) and restart the node",
            )
