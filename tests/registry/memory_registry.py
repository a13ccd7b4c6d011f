"""A registry without a log: what is decided is replayed, and kept to be replayed again."""

from collections.abc import Iterable
from typing import TypeVar

from barnabas.registry.model.contents import JsonObject, Reference, SchemaContent
from barnabas.registry.model.entries import SchemaVersion
from barnabas.registry.model.image import RegistryImage
from barnabas.registry.model.records import LogRecord
from barnabas.registry.model.registration import RegistryChange, WantedSchema, look_up, register
from tests.registry.simple_checks import SimpleChecks

T = TypeVar("T")


class MemoryRegistry:
    def __init__(self) -> None:
        self.image = RegistryImage()
        self.log: list[LogRecord] = []
        self.checks = SimpleChecks()

    def commit(self, outcome: RegistryChange[T]) -> T:
        self.write(outcome.records)
        return outcome.answer

    def write(self, records: Iterable[LogRecord]) -> None:
        for each in records:
            self.log.append(each)
            self.image.replay(*each)

    def compacted(self) -> RegistryImage:
        """What is left after compaction, read again."""
        last = {each.key: index for index, each in enumerate(self.log)}
        image = RegistryImage()
        for index, each in enumerate(self.log):
            if last[each.key] == index and each.value is not None:
                image.replay(*each)
        return image

    def register(
        self,
        subject: str,
        text: str,
        *,
        kind: str = "AVRO",
        schema_id: int | None = None,
        version: int = 0,
        references: tuple[Reference, ...] = (),
        metadata: JsonObject | None = None,
        rules: JsonObject | None = None,
        normalize: bool = False,
    ) -> SchemaVersion:
        content = SchemaContent(kind, text, references, metadata, rules)
        wanted = WantedSchema(subject, content, schema_id, version, normalize)
        return self.commit(register(self.image, self.checks, wanted))

    def look_up(self, subject: str, text: str) -> SchemaVersion:
        wanted = WantedSchema(subject, SchemaContent("AVRO", text))
        return look_up(self.image, self.checks, wanted)
