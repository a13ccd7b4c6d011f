"""The schema registry with a rule about ids broken."""

from collections.abc import Callable, Iterable
from typing import Any
from unittest.mock import patch

from barnabas.registry.log import RegistryLog
from barnabas.registry.model import deletion
from barnabas.registry.model.image import RegistryImage
from barnabas.registry.model.records import LogRecord, schema_tombstone
from barnabas.registry.settings import RegistrySettings
from barnabas.registry.writer import RegistryWriter
from barnabas.sim import run
from tests.sim.variant import Variant


def _own_fence(self: RegistrySettings) -> str:
    return f"schema-registry-{self.advertised}"


def _tombstones_only(
    _image: RegistryImage, subject: str, numbers: Iterable[int]
) -> list[LogRecord]:
    return [schema_tombstone(subject, each) for each in numbers]


async def _at_once(_self: RegistryLog, _offset: int, _timeout_s: float) -> None:
    return


def _live_ids_only(self: RegistryImage, context: str) -> int:
    entries = (each for name in self.schemas.subjects() for each in _versions(self, name))
    return max((each.id for each in entries), default=0) + 1


def _versions(image: RegistryImage, subject: str) -> Iterable[Any]:
    return image.schemas.versions(subject).values()


_has_opened: Callable[[RegistryWriter], bool] = lambda self: self._producer is not None  # noqa: E731


def _variant(*patches: Any, emphasis: str | None = None) -> Variant:
    """With instances of a registry in every run."""
    return Variant([*patches, patch.object(run, "_REGISTRIES", 1.0)], emphasis)


VARIANTS: dict[str, Variant] = {
    "let each instance of the registry write under a fence of its own": _variant(
        patch.object(RegistrySettings, "transactional_id", property(_own_fence))
    ),
    "give ids before the registry has read what it wrote": _variant(
        patch.object(RegistryLog, "reach", _at_once),
        patch.object(RegistryWriter, "is_writer", property(_has_opened)),
    ),
    "give ids again whose schemas were deleted for good": _variant(
        patch.object(RegistryImage, "next_id", _live_ids_only),
        patch.object(deletion, "_gone", _tombstones_only),
    ),
}
