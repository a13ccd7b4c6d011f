"""Webhooks: requests that a listener appends to a topic, and the rows of that topic."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.expectations.expectation import Expectation
from barnabas.spark.pipelines.http.hook_listener import (
    HookSettings,
    listening,
    stop_listening,
)
from barnabas.spark.pipelines.sources.topic import TopicSource, from_topic


@dataclass(frozen=True)
class HttpSource(TopicSource):
    """A topic, and a listener in the driver that appends requests to it. See `from_http`."""

    hooks: HookSettings = HookSettings(0)  # noqa: RUF009 - it can't be changed

    def describe(self) -> str:
        return f"webhooks at {self.hooks.host}:{self.hooks.port}{self.hooks.path}"

    def load(self, environment: Environment) -> DataFrame:
        pipeline = environment.group_id or ""
        listening(self.hooks, self.topic, environment.cluster, pipeline)
        return super().load(environment)

    def close(self, pipeline: str) -> None:
        stop_listening(self.hooks, pipeline)

    def in_test(self, folder: Path) -> TopicSource:
        """What is fed are the bodies of requests; nothing listens."""
        del folder
        return TopicSource(**_of_topic(self))


def from_http(
    topic: str,
    schema: str | StructType | None = None,
    *,
    port: int = 8080,
    host: str = "127.0.0.1",
    path: str = "/",
    token: str | None = None,
    key_header: str | None = None,
    max_body_bytes: int = 1 << 20,
    watermark: str | None = None,
    dead_letters: str | None = None,
    expect: Sequence[Expectation] = (),
    **options: Any,
) -> HttpSource:
    """HTTP requests to this machine: each becomes a record of a topic, then a row.

    The listener runs in the driver until the pipeline is stopped. It answers a request with 200
    once the topic has it, and with 503 if that fails, so that the sender retries.

    - `topic`: where requests are stored; `schema`, `watermark`, `dead_letters`, `expect` and
      `options` are those of `from_topic`.
    - `host`, `port`, `path`: where it listens. `0.0.0.0` accepts other machines.
    - `token`: requests need the header `Authorization: Bearer TOKEN`.
    - `key_header`: the header that is the record's key.
    - `max_body_bytes`: larger requests are refused with 413.
    """
    if "," in topic or "pattern" in options:
        raise InvalidArgument(f"topic: name one, not {topic!r}")
    hooks = HookSettings(port, host, path, token, key_header, max_body_bytes)
    read = from_topic(
        topic,
        schema,
        watermark=watermark,
        dead_letters=dead_letters,
        expect=expect,
        **options,
    )
    return HttpSource(**_of_topic(read), hooks=hooks)


def _of_topic(source: TopicSource) -> dict[str, Any]:
    return {each.name: getattr(source, each.name) for each in fields(TopicSource)}
