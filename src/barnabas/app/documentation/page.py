"""An AsyncAPI document as one page of HTML that needs nothing else."""

import json
from html import escape
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1b2030; background: #fff; }
h2 { margin-top: 2.5rem; } code, pre { font: 14px/1.4 ui-monospace, monospace; }
pre { background: #f4f5f8; padding: .8rem 1rem; border-radius: 6px; overflow-x: auto; }
article { border: 1px solid #dde0e8; border-radius: 8px; padding: .2rem 1.2rem 1rem;
  margin: 1rem 0; }
.action { font-size: .8rem; font-weight: 600; padding: .1rem .5rem; border-radius: 1rem;
  background: #e6edfb; color: #23439c; } .send { background: #e3f3e9; color: #17603a; }
@media (prefers-color-scheme: dark) { body { background: #14171f; color: #e4e7ef; }
  pre { background: #1e222d; } article { border-color: #333947; }
  a { color: #8ab0ff; } .action { background: #22305a; color: #b9cdff; }
  .send { background: #1c3d2b; color: #a8e0bf; } }
"""
_VERBS = {"receive": "reads", "send": "sends"}


def page_of(document: dict[str, Any]) -> str:
    """The page."""
    title = escape(document["info"]["title"])
    parts = [
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>{title}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{title}</h1>",
        f"<p>Version {escape(document['info']['version'])}. Brokers: "
        + ", ".join(f"<code>{escape(s['host'])}</code>" for s in document["servers"].values())
        + ". <a href='asyncapi.json'>AsyncAPI document</a></p>",
        "<h2>What it does</h2>",
        *(_operation(name, each) for name, each in document["operations"].items()),
        "<h2>Messages</h2>",
        *(_message(name, each) for name, each in document["components"]["messages"].items()),
        "<h2>Types</h2>",
        *(_schema(name, each) for name, each in document["components"]["schemas"].items()),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _operation(name: str, operation: dict[str, Any]) -> str:
    topic = escape(operation["channel"]["$ref"].rpartition("/")[2])
    messages = ", ".join(_link("message", each["$ref"]) for each in operation["messages"])
    action = operation["action"]
    description = "".join(
        f"<p>{escape(part)}</p>" for part in operation.get("description", "").split("\n\n") if part
    )
    return (
        f"<article id='operation-{escape(name)}'><h3>{escape(name)} "
        f"<span class='action {action}'>{_VERBS[action]} {topic}</span></h3>"
        f"<p>{escape(operation['summary'])}</p>{description}<p>Messages: {messages}</p></article>"
    )


def _message(name: str, message: dict[str, Any]) -> str:
    payload = message["payload"]
    shown = _link("type", payload["$ref"]) if "$ref" in payload else _code(payload)
    key = message.get("bindings", {}).get("kafka", {}).get("key")
    of_key = "" if key is None else f"<p>Key: {_code(key)}</p>"
    content = escape(message["contentType"])
    return (
        f"<article id='message-{escape(name)}'><h3>{escape(name)}</h3>"
        f"<p>{content}: {shown}</p>{of_key}</article>"
    )


def _schema(name: str, schema: dict[str, Any]) -> str:
    return f"<article id='type-{escape(name)}'><h3>{escape(name)}</h3>{_code(schema)}</article>"


def _code(value: Any) -> str:
    return f"<pre>{escape(json.dumps(value, indent=2, ensure_ascii=False))}</pre>"


def _link(kind: str, reference: str) -> str:
    name = escape(reference.rpartition("/")[2])
    return f"<a href='#{kind}-{name}'>{name}</a>"
