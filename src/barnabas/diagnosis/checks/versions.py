"""Releases of nodes: a rolling upgrade that was begun has to be ended."""

from collections import defaultdict
from collections.abc import Iterator

from barnabas.client.admin.features import METADATA_VERSION
from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, note, warning
from barnabas.quantities import some

_FIX = "install the same release on all nodes, and restart them one after the other"


def software(facts: Facts) -> Iterator[Finding]:
    by_version: defaultdict[str, list[int]] = defaultdict(list)
    for node in facts.nodes:
        if node.version is not None:
            by_version[node.version].append(node.node_id)
    if len(by_version) > 1:
        said = "; ".join(f"{each} on {some(ids)}" for each, ids in sorted(by_version.items()))
        yield warning("versions", f"nodes run different releases: {said}", _FIX)


def apis(facts: Facts) -> Iterator[Finding]:
    """By the APIs that each serves, where the release itself is not told."""
    if all(node.version is not None for node in facts.nodes):
        return
    served = [node for node in facts.nodes if node.api_versions]
    others = [each.node_id for each in served if each.api_versions != served[0].api_versions]
    if others:
        yield warning(
            "versions",
            f"nodes {some(others)} serve other versions of APIs than node {served[0].node_id}",
            _FIX,
        )


def level(facts: Facts) -> Iterator[Finding]:
    """An upgrade that was not completed: all nodes are new, and still write the old format.

    Other features than metadata.version are switched on by choice.
    """
    features = facts.features
    supported = None if features is None else features.supported_by_all(METADATA_VERSION)
    if features is None or supported is None:
        return
    in_force = features.levels.get(METADATA_VERSION)
    if in_force is not None and in_force < supported.newest:
        yield note(
            "versions",
            f"{METADATA_VERSION} is at level {in_force}, and all nodes support {supported.newest}",
            "barnabas cluster upgrade, once you will not go back to the release before",
        )
