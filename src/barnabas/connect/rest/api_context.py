"""What the functions of the API work with."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from weakref import WeakValueDictionary

from barnabas.connect.rest.answers import ApiError
from barnabas.connect.runner import Runner
from barnabas.connect.settings import ServiceSettings
from barnabas.connect.state.leadership import Leadership
from barnabas.connect.state.records import Definition
from barnabas.connect.state.state_topics import StateTopics


@dataclass(frozen=True)
class ApiContext:
    """One instance, as the API sees it."""

    settings: ServiceSettings
    topics: StateTopics
    leadership: Leadership
    runner: Runner
    _locks: WeakValueDictionary[str, asyncio.Lock] = field(
        default_factory=WeakValueDictionary, init=False
    )

    def lock(self, name: str) -> asyncio.Lock:
        """Held by a request from what it reads of a connector until it has changed that."""
        return self._locks.setdefault(name, asyncio.Lock())

    def definition(self, name: str) -> Definition:
        """A connector; raises `ApiError` if there is none."""
        found = self.topics.definition(name)
        if found is None:
            raise ApiError(HTTPStatus.NOT_FOUND, f"Connector {name} not found")
        return found

    async def write_configs(self, records: Mapping[str, Mapping[str, Any] | None]) -> None:
        await self.leadership.write(records, self.settings.configs_topic)
        self.runner.wake()
