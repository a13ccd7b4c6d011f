"""Dead letters sent back to their topics, once the pipeline or the schema is fixed."""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from barnabas.dead_letters.letters import LetterCluster
from barnabas.dead_letters.replay import replay_letters
from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.definition.pipeline import Pipeline

_CLIENT_ID = "barnabas-pipeline-replay"

T = TypeVar("T")


def replay_dead_letters(
    pipeline: Pipeline, bootstrap_servers: str, *, security: Mapping[str, str] | None = None
) -> Counter[tuple[str, str]]:
    """Send the dead letters of a pipeline back; returns the number for each pair of topics.

    It does what `barnabas dead-letters replay TOPIC` does for each dead-letter topic of the
    pipeline, so each letter is sent back once by both together. They are sent unchanged, without
    the headers of dead letters and with the current time, and they stay in their topic. `security`
    has Kafka's client settings for encryption and authentication.
    """
    topics = _topics(pipeline)
    if not topics:
        raise InvalidArgument(f"pipeline {pipeline.name} has no dead-letter topic")
    cluster = LetterCluster(bootstrap_servers, security or {}, _CLIENT_ID)
    sent: Counter[tuple[str, str]] = Counter()
    for topic in topics:
        result = _run(replay_letters(cluster, topic, None))
        sent.update({(topic, origin): count for origin, count in result.sent.items()})
    return sent


def has_dead_letters(pipeline: Pipeline) -> bool:
    """Whether it has a topic for them."""
    return bool(_topics(pipeline))


def _topics(pipeline: Pipeline) -> list[str]:
    topics = (each.dead_letter_topic for each in pipeline.sources.values())
    return sorted({each for each in topics if each is not None})


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Also in a notebook, whose thread has a running loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
