"""Barnabas: a publish-subscribe log that speaks the Kafka protocol, written in Python."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas import aio, errors, formats, schemas, tracing
    from barnabas.app.app import App
    from barnabas.app.dependencies import Depends
    from barnabas.app.outgoing import Outgoing
    from barnabas.app.sent_to import SentTo
    from barnabas.app.state.state import Expires, State
    from barnabas.client.admin.acls import AclBinding
    from barnabas.client.admin.brokers import ClusterDescription
    from barnabas.client.admin.configs import ConfigEntry
    from barnabas.client.admin.descriptions import GroupDescription, TopicDescription
    from barnabas.client.connect.cluster_metadata import TopicPartition
    from barnabas.client.producer.sent_record import Delivery, Sent
    from barnabas.client.results.submitted_job import SubmittedJob
    from barnabas.client.share.queue_message import Acknowledgement, QueueMessage
    from barnabas.embedded.cluster import Cluster
    from barnabas.records.message import Message
    from barnabas.sync.admin import Admin
    from barnabas.sync.consumer import Consumer
    from barnabas.sync.producer import Producer
    from barnabas.sync.queue import Queue
    from barnabas.sync.table import Table

__all__ = [
    "Acknowledgement",
    "AclBinding",
    "Admin",
    "App",
    "Cluster",
    "ClusterDescription",
    "ConfigEntry",
    "Consumer",
    "Delivery",
    "Depends",
    "Expires",
    "GroupDescription",
    "Message",
    "Outgoing",
    "Producer",
    "Queue",
    "QueueMessage",
    "Sent",
    "SentTo",
    "State",
    "SubmittedJob",
    "Table",
    "TopicDescription",
    "TopicPartition",
    "__version__",
    "aio",
    "errors",
    "formats",
    "schemas",
    "tracing",
]

__version__ = "0.1.0"

_HOMES = {
    "Acknowledgement": "barnabas.client.share.queue_message",
    "AclBinding": "barnabas.client.admin.acls",
    "Admin": "barnabas.sync.admin",
    "App": "barnabas.app.app",
    "Cluster": "barnabas.embedded.cluster",
    "ClusterDescription": "barnabas.client.admin.brokers",
    "ConfigEntry": "barnabas.client.admin.configs",
    "Consumer": "barnabas.sync.consumer",
    "Delivery": "barnabas.client.producer.sent_record",
    "Depends": "barnabas.app.dependencies",
    "Expires": "barnabas.app.state.state",
    "GroupDescription": "barnabas.client.admin.descriptions",
    "Message": "barnabas.records.message",
    "Outgoing": "barnabas.app.outgoing",
    "Producer": "barnabas.sync.producer",
    "Queue": "barnabas.sync.queue",
    "QueueMessage": "barnabas.client.share.queue_message",
    "Sent": "barnabas.client.producer.sent_record",
    "SentTo": "barnabas.app.sent_to",
    "State": "barnabas.app.state.state",
    "SubmittedJob": "barnabas.client.results.submitted_job",
    "Table": "barnabas.sync.table",
    "TopicDescription": "barnabas.client.admin.descriptions",
    "TopicPartition": "barnabas.client.connect.cluster_metadata",
}
"""Where public names live. They are imported when they are first used: a broker needs none."""

_MODULES = ("aio", "errors", "formats", "schemas", "tracing")

if not TYPE_CHECKING:  # a type checker shall know the names above, and no others

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f"{__name__}.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
