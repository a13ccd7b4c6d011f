"""Topics named on the command line, which may be mistyped."""

import asyncio
from difflib import get_close_matches
from random import random
from time import monotonic
from typing import TYPE_CHECKING

from barnabas.cli.base.command import CommandError
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


async def no_such_topic(cluster: "ClusterClient", name: str, remedy: str) -> CommandError:
    """An error that suggests topics with similar names, and what else to do."""
    known = [each for each in await cluster.refresh(None) if each != name]
    similar = get_close_matches(name, known, n=3, cutoff=0.75)
    guess = f"did you mean {' or '.join(similar)}? " if similar else ""
    return CommandError(f"topic {name} does not exist; {guess}{remedy}")
