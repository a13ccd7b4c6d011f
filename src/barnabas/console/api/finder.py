"""Anything by a part of its name, for the box that Ctrl-K opens."""

from typing import Any

from barnabas.console.endpoint import Call, Endpoint, Parameter

_FOUND = 8


async def find(call: Call) -> dict[str, Any]:
    looked = await call.cluster.watch.look()
    wanted = call.text("query").lower()
    if looked is None:
        return {"topics": [], "groups": [], "pipelines": []}

    def best(names: list[str]) -> list[str]:
        """Names that begin with it come first, then short ones."""
        found = [name for name in names if wanted in name.lower()]
        found.sort(key=lambda name: (not name.lower().startswith(wanted), len(name), name))
        return found[:_FOUND]

    return {
        "topics": best([row.name for row in looked.topics if wanted or not row.internal]),
        "groups": best([row.id for row in looked.groups]),
        "pipelines": best(list(call.cluster.watch.pipelines.followed)),
    }


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/find",
        "Topics, groups and pipelines by a part of their names.",
        find,
        (Parameter("query", "string", "A part of a name.", ""),),
    ),
)
