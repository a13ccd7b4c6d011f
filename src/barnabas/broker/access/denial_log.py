"""The audit log of refused requests: Kafka's lines, a limited number for each principal."""

import logging
from collections.abc import Callable

from barnabas.security.authorizer.access import Access
from barnabas.wire.acl_codes import AclOperation, ResourceType

logger = logging.getLogger("barnabas.authorizer")

_LINES = 20
_WINDOW_MS = 10_000
"""A principal gets this many lines in this time; what it was denied beyond them is counted."""
_MAX_PRINCIPALS = 10_000
_MAX_NAME = 200
_MAX_RULE = 1_000
"""Characters that are logged: clients choose the names, and some may have megabytes."""


class DenialLog:
    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._windows: dict[str, list[int]] = {}
        """By principal: when its window began, lines in it, denials that were not logged."""

    def say(
        self, access: Access, operation: int, resource_type: ResourceType, name: str, api: str
    ) -> None:
        principal = _shown(str(access.principal), _MAX_NAME)
        now_ms = self._now_ms()
        window = self._windows.get(principal)
        if window is None or now_ms - window[0] >= _WINDOW_MS:
            if window is not None and window[2]:
                logger.info(
                    "Principal = %s is Denied: %d more denials were not logged",
                    principal,
                    window[2],
                )
            if len(self._windows) >= _MAX_PRINCIPALS:
                self._windows.clear()
            window = self._windows[principal] = [now_ms, 0, 0]
        if window[1] >= _LINES:
            window[2] += 1
            return
        window[1] += 1
        logger.info(
            "Principal = %s is Denied operation = %s from host = %s on resource = %s:LITERAL:%s "
            "for request = %s with resourceRefCount = 1 based on rule %s",
            principal,
            AclOperation(operation).name,
            access.host,
            resource_type.title,
            _shown(name, _MAX_NAME),
            api,
            _shown(str(access.decide(operation, resource_type, name)), _MAX_RULE),
        )


def _shown(text: str, limit: int) -> str:
    """Text of a client: not too long, and on one line, so that nobody can forge another."""
    cut = text[:limit]
    shown = cut if cut.isprintable() else cut.encode("unicode_escape").decode()
    return shown if len(text) <= limit else f"{shown}... ({len(text)} characters)"
