"""Topics named on the command line, which may be mistyped."""

import asyncio
import re
from collections.abc import Iterable
from difflib import get_close_matches
from random import random
from time import monotonic
from typing import TYPE_CHECKING

from barnabas.cli.base.command import CommandError, UsageError
from barnabas.client.connect.environment import RETRY
from barnabas.wire.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.client.connect.cluster_client import ClusterClient

_PATIENCE_S = 1.0


async def topic_exists(cluster: "ClusterClient", name: str) -> bool:
    """Whether there is such a topic. It is not created by asking.

    Brokers learn of a new topic one after the other, so a "no" is checked again for a moment.
    """
    deadline = monotonic() + _PATIENCE_S
    for pause_s in RETRY.pauses(random):
        found = (await cluster.refresh([name]))[name]
        if found.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return True
        if monotonic() + pause_s > deadline:
            return False
        await asyncio.sleep(pause_s)
    raise AssertionError("pauses never end")


async def matching_topics(cluster: "ClusterClient", pattern: str) -> list[str]:
    """All topics whose whole names match, except internal ones; raises if there are none."""
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--pattern {pattern}: {error}") from error
    found = [
        name
        for name, topic in (await cluster.refresh(None)).items()
        if wanted.fullmatch(name) and not topic.is_internal
    ]
    if not found:
        raise CommandError(f"no topic matches {pattern}; see `barnabas topics list`")
    return found


async def check_topics(cluster: "ClusterClient", names: Iterable[str]) -> None:
    """Raises for the first topic that does not exist."""
    for name in names:
        if not await topic_exists(cluster, name):
            raise await no_such_topic(cluster, name, "see `barnabas topics list`")


async def no_such_topic(cluster: "ClusterClient", name: str, remedy: str) -> CommandError:
    """An error that suggests topics with similar names, and what else to do."""
    known = [each for each in await cluster.refresh(None) if each != name]
    similar = get_close_matches(name, known, n=3, cutoff=0.75)
    guess = f"did you mean {' or '.join(similar)}? " if similar else ""
    return CommandError(f"topic {name} does not exist; {guess}{remedy}")
