"""What was changed, by whom, in a topic: one record when it is asked for, one with its outcome."""

from collections.abc import Mapping
from http import HTTPStatus
from time import time
from typing import Any

from barnabas.console.answers import ApiError, json_bytes
from barnabas.console.endpoint import Endpoint
from barnabas.console.messages.masking import Masks
from barnabas.console.options import ConsoleOptions
from barnabas.console.user_cluster import UserCluster
from barnabas.errors import NotAuthorized, SignInFailed
from barnabas.security.secret_settings import HIDDEN, shown_setting, without_secrets_of

_LONG = 1_000


class Audit:
    """Writes as the console itself: users need no right to write the topic, so they can't forge
    what it says. A change that can't be recorded is not made."""

    def __init__(self, options: ConsoleOptions, masks: Masks) -> None:
        self._options = options
        self._masks = masks
        self._own: UserCluster | None = None

    async def close(self) -> None:
        if self._own is not None:
            await self._own.close()

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Nobody changes the topic through the console. Raises `ApiError`."""
        topic = self._options.audit_topic
        if topic is not None and topic in (arguments.get("topic"), arguments.get("to")):
            raise ApiError(
                HTTPStatus.FORBIDDEN,
                f"{topic} is the audit topic of this console, which alone writes to it",
                "Use the command line to change the topic itself.",
            )

    async def record(
        self,
        user: str | None,
        endpoint: Endpoint,
        arguments: dict[str, Any],
        outcome: str,
    ) -> None:
        """Raises `BarnabasError` or `ApiError` if the topic can't be written."""
        topic = self._options.audit_topic
        if topic is None:
            return
        shown = audited(endpoint, arguments, self._masks)
        entry = {
            "time_ms": int(time() * 1000),
            "user": user,
            "operation": endpoint.operation,
            "arguments": shown,
            "outcome": self._outcome(outcome, endpoint, arguments, shown),
        }
        if self._own is None:
            self._own = UserCluster(self._options.bootstrap, self._options.security)
        producer = self._own.producer()
        try:
            await (await producer.send(topic, json_bytes(entry), (user or "").encode()))
        except (NotAuthorized, SignInFailed) as error:
            raise ApiError(
                HTTPStatus.BAD_GATEWAY,
                f"the console may not write its audit topic: {error}",
                f"Let the console's own user sign in, and write {topic}.",
            ) from error

    def _outcome(
        self,
        outcome: str,
        endpoint: Endpoint,
        arguments: Mapping[str, Any],
        shown: Mapping[str, Any],
    ) -> str:
        hides_content = any(
            each.content and shown.get(each.name) == HIDDEN for each in endpoint.body
        )
        if hides_content:  # an error may quote a part of the record
            return outcome.partition(":")[0]
        return _without(outcome, arguments, shown)


def audited(endpoint: Endpoint, arguments: Mapping[str, Any], masks: Masks) -> dict[str, Any]:
    """The arguments without secrets, and without records of masked topics."""
    is_masked = masks.cover(str(arguments.get("topic", "")))
    hidden = {
        each.name
        for each in (*endpoint.parameters, *endpoint.body)
        if each.secret or (each.content and is_masked)
    }
    return {
        name: HIDDEN if name in hidden else _shown("", value)
        for name, value in arguments.items()
        if value is not None
    }


def _shown(name: str, value: Any) -> Any:
    if isinstance(value, dict):  # settings by their names
        return {inner: _shown(inner, each) for inner, each in value.items()}
    if isinstance(value, list):
        return [_shown(name, each) for each in value]
    if value is None or isinstance(value, bool):
        return value
    text = str(value)
    shown = shown_setting(name, text[: 4 * _LONG])  # no more of it is written anyway
    if len(text) > _LONG and shown != HIDDEN:
        return f"{shown[:_LONG]}… ({len(text)} characters)"
    return value if shown == text else shown


def _without(outcome: str, arguments: Mapping[str, Any], shown: Mapping[str, Any]) -> str:
    """An error may quote what was wrong, and so a secret; one word is no error."""
    if " " not in outcome:
        return outcome
    for name, each in shown.items():
        if each == HIDDEN:
            outcome = outcome.replace(str(arguments[name]) or HIDDEN, HIDDEN)
    return without_secrets_of(outcome, arguments)
