"""An application as an AsyncAPI document (3.0): what it reads, sends, and how it retries."""

import inspect
import types
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from barnabas.app.arguments import Takes
from barnabas.app.outgoing import Outgoing
from barnabas.client.durations import short
from barnabas.schemas.models.json_types import JsonTypes

if TYPE_CHECKING:
    from barnabas.app.app import App
    from barnabas.app.handler import Handler
    from barnabas.app.schedules.schedule import Schedule

_TEXT = "text/plain"
_BYTES = "application/octet-stream"
_JSON = "application/json"
_PROTOBUF = "application/x-protobuf"
_ARROW = "Arrow table of keys and values as bytes"


class Document:
    """Collects channels, operations and messages."""

    def __init__(self, app: "App", version: str) -> None:
        self._app = app
        self._version = version
        self._schemas = JsonTypes("#/components/schemas/")
        self._channels: dict[str, Any] = {}
        self._operations: dict[str, Any] = {}
        self._messages: dict[str, Any] = {}

    def made(self) -> dict[str, Any]:
        """The document, to be written as JSON."""
        for handler in self._app.handlers.values():
            self._add(handler)
        for schedule in self._app.schedules:
            self._add_schedule(schedule)
        return {
            "asyncapi": "3.0.0",
            "info": {"title": self._app.title, "version": self._version},
            "defaultContentType": _JSON,
            "servers": _servers(self._app.bootstrap_servers),
            "channels": self._channels,
            "operations": self._operations,
            "components": {"messages": self._messages, "schemas": self._schemas.named},
        }

    def _add(self, handler: "Handler") -> None:
        parameters = handler.invocation.parameters
        for topic in handler.topics:
            message = self._message(parameters.value_type, parameters.key_type)
            name = handler.name if len(handler.topics) == 1 else f"{handler.name}.{topic}"
            self._operations[name] = {
                "action": "receive",
                **self._place(topic, message),
                **_told(handler),
                **_group_binding(handler.group),
            }
        if handler.produces is not None:
            result = _one_result(parameters.result)
            message = self._message(result, parameters.key_type)
            self._operations[f"{handler.name}.results"] = {
                "action": "send",
                **self._place(handler.produces, message),
                "summary": f"Results of {handler.name}",
            }
        if handler.dead_letters is not None:
            message = self._message(parameters.value_type, parameters.key_type)
            self._operations[f"{handler.name}.dead-letters"] = {
                "action": "send",
                **self._place(handler.dead_letters, message),
                "summary": f"Records that {handler.name} has given up",
            }

    def _add_schedule(self, schedule: "Schedule") -> None:
        hint = _one_result(get_type_hints(schedule.function).get("return"))
        text = inspect.cleandoc(schedule.function.__doc__ or "")
        summary, _, rest = text.partition("\n")
        when = f"{schedule.ticks.text}; once for all workers of the group {schedule.group}."
        self._operations[schedule.name] = {
            "action": "send",
            **self._place(schedule.produces, self._message(hint, str)),
            "summary": summary or schedule.name,
            "description": "\n\n".join(each for each in (rest.strip(), when) if each),
        }

    def _place(self, topic: str, message: str) -> dict[str, Any]:
        """The topic, as a channel, and the message that it carries for this operation."""
        channel = self._channels.setdefault(topic, {"address": topic, "messages": {}})
        channel["messages"][message] = {"$ref": f"#/components/messages/{message}"}
        return {
            "channel": {"$ref": f"#/channels/{topic}"},
            "messages": [{"$ref": f"#/channels/{topic}/messages/{message}"}],
        }

    def _message(self, value_type: Any, key_type: Any) -> str:
        payload = self._schemas.of(bytes if value_type in (None, Any) else value_type)
        reference = payload.get("$ref", "")
        name = str(reference.rpartition("/")[2] or payload.get("type") or "record")
        content = _content_type(value_type)
        if content == _BYTES:
            name = "bytes"
        made = {"name": name, "contentType": content, "payload": payload}
        if key_type not in (None, Any):
            made["bindings"] = {"kafka": {"key": self._schemas.of(key_type)}}
        while self._messages.setdefault(name, made) != made:
            name += "_"  # the same value with another key
        return name


def asyncapi_of(app: "App", version: str) -> dict[str, Any]:
    """The document of an application, for programs that read AsyncAPI."""
    return Document(app, version).made()


def _servers(bootstrap: Any) -> dict[str, Any]:
    addresses = bootstrap.split(",") if isinstance(bootstrap, str) else [str(b) for b in bootstrap]
    return {
        f"broker-{number}": {"host": address.strip(), "protocol": "kafka"}
        for number, address in enumerate(addresses, 1)
    }


def _content_type(value_type: Any) -> str:
    if value_type in (None, Any, bytes):
        return _BYTES
    if value_type is str:
        return _TEXT
    return _PROTOBUF if hasattr(value_type, "SerializeToString") else _JSON


def _one_result(hint: Any) -> Any:
    """The type of one record that is sent: without None, and of the items of a list."""
    if get_origin(hint) in (Union, types.UnionType):
        some = [each for each in get_args(hint) if each is not types.NoneType]
        hint = some[0] if len(some) == 1 else hint
    if get_origin(hint) is list:
        (hint,) = get_args(hint)
    return None if hint is Outgoing else hint


def _group_binding(group: str | None) -> dict[str, Any]:
    if group is None:
        return {}
    return {"bindings": {"kafka": {"groupId": {"type": "string", "const": group}}}}


def _told(handler: "Handler") -> dict[str, Any]:
    """The docstring, and what happens when the function fails."""
    text = inspect.cleandoc(handler.description) if handler.description else ""
    summary, _, rest = text.partition("\n")
    policy = handler.policy
    if handler.group is None:
        facts = ["no group: every process handles all records"]
    else:
        facts = [f"{'share ' if handler.share else ''}group {handler.group}"]
    if handler.takes is Takes.BATCH:
        facts.append(f"batches of up to {handler.max_batch}")
    elif handler.takes is Takes.TABLE:
        facts.append(_ARROW)
    if handler.concurrency > 1:
        order = "in any order" if handler.share else "keys in order"
        facts.append(f"up to {handler.concurrency} records at a time, {order}")
    if policy.retries:
        facts.append(f"{policy.retries} more attempts after a failure")
    if policy.topics:
        facts.append(f"handled again after {', '.join(map(short, policy.topics))}")
    if handler.dead_letters:
        facts.append(f"dead letters in {handler.dead_letters}")
    else:
        facts.append(f"{handler.on_failure} after the last failure")
    if handler.state is not None:
        standby = ", with standby copies" if handler.standby else ""
        facts.append(f"keeps {handler.state.name} for each key in {handler.changelog}{standby}")
    facts.append("exactly once" if handler.exactly_once else "at least once")
    described = "\n\n".join(each for each in (rest.strip(), "; ".join(facts) + ".") if each)
    return {"summary": summary or handler.name, "description": described}
