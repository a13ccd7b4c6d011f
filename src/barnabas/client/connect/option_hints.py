"""Options under the names that Kafka and its other clients have for them."""

from collections.abc import Mapping
from inspect import signature
from typing import Any

_NAMES_HERE = {
    "auto_offset_reset": "start",
    "bootstrap": "bootstrap_servers",
    "compression_type": "compression",
    "enable_auto_commit": "commit",
    "enable_idempotence": "idempotent",
    "group_id": "group",
    "group_instance_id": "instance_id",
    "auto_commit_interval_ms": "commit_interval_ms",
    "batch_size": "batch_bytes",
    "buffer_memory": "buffer_bytes",
    "fetch_max_bytes": "max_bytes",
    "fetch_max_wait_ms": "max_wait_ms",
    "fetch_min_bytes": "min_bytes",
    "isolation_level": "isolation",
    "key_deserializer": "key_format",
    "key_serializer": "key_format",
    "max_partition_fetch_bytes": "partition_max_bytes",
    "partition_assignment_strategy": "assignors",
    "value_deserializer": "value_format",
    "value_serializer": "value_format",
}


def check_options(
    client: Any, arguments: tuple[object, ...], options: Mapping[str, object]
) -> None:
    """Raise TypeError, with what to write instead, for options as other libraries take them."""
    if arguments and isinstance(arguments[0], dict):
        raise TypeError(
            f"{client.__name__} takes keyword arguments, not a dict: write "
            f'{client.__name__}("localhost:9092", ...)'
        )
    for option in options:
        here = _NAMES_HERE.get(option)
        if here is not None and here in signature(client.__init__).parameters:
            raise TypeError(f"{client.__name__} has no option {option}: write {here}=")
