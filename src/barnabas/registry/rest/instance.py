"""What the functions of the API work with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from barnabas.registry.log import RegistryLog
from barnabas.registry.model.checks import SchemaChecks, UnusableSchemaError
from barnabas.registry.model.entries import SchemaVersion
from barnabas.registry.model.errors import RegistryRefusal, invalid_schema
from barnabas.registry.model.image import RegistryImage
from barnabas.registry.model.lookups import absolute, resolver, subject_of_alias
from barnabas.registry.model.registration import RegistryChange
from barnabas.registry.rest.call import Call
from barnabas.registry.rest.request_counts import RequestCounts
from barnabas.registry.settings import RegistrySettings
from barnabas.registry.writer import RegistryWriter, WriterLostError

T = TypeVar("T")


@dataclass(frozen=True)
class RegistryInstance:
    """One instance, as the API sees it."""

    settings: RegistrySettings
    log: RegistryLog
    writer: RegistryWriter
    checks: SchemaChecks
    requests: RequestCounts = field(default_factory=RequestCounts)

    @property
    def image(self) -> RegistryImage:
        return self.log.image

    async def change(self, decide: Callable[[RegistryImage], RegistryChange[T]]) -> T:
        """Decide and write. Raises `WriterLostError` if another instance has to.

        What has nothing to write, as a schema that is registered already, any instance answers.
        """
        if self.writer.is_writer:
            return await self.writer.write(decide)
        try:
            found = decide(self.image)
        except RegistryRefusal as error:
            raise WriterLostError(str(error)) from None  # the writer may know better
        if found.records:
            raise WriterLostError("another instance writes")
        return found.answer

    def subject(self, call: Call, index: int = 1) -> str:
        """The subject in the path, or the one that it is an alias of."""
        return subject_of_alias(self.image, call.subject(index))

    def formatted(self, entry: SchemaVersion, form: str) -> str:
        """The text of a version, as it is without a format. Raises `RegistryRefusal`."""
        if not form:
            return entry.content.text
        try:
            content = absolute(entry.content, entry.subject)
            return self.checks.formatted(content, form, resolver(self.image))
        except (UnusableSchemaError, LookupError) as error:
            raise invalid_schema(str(error)) from error
