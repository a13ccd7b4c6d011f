"""Where in a schema a comparison is: as a registry has it, and as people say it."""

from typing import NamedTuple

from barnabas.schemas.incompatibility import Incompatibility


class JsonPlace(NamedTuple):
    path: str
    """For example `#/properties/customer`; `#/` is the schema itself."""
    field: str
    """For example `customer`; empty for the schema itself."""

    def keyword(self, *steps: str | int) -> "JsonPlace":
        return JsonPlace("/".join((self.path.rstrip("/"), *map(str, steps))), self.field)

    def member(self, name: str) -> "JsonPlace":
        field = f"{self.field}.{name}" if self.field else name
        return JsonPlace(self.keyword("properties", name).path, field)

    def item(self, *steps: str | int) -> "JsonPlace":
        return JsonPlace(self.keyword(*steps).path, f"{self.field}[]")

    @property
    def named(self) -> str:
        return self.field or "the value"

    def found(
        self, kind: str, message: str, old: str | None = None, new: str | None = None
    ) -> Incompatibility:
        return Incompatibility(kind, self.path, self.field, message, old, new)


ROOT = JsonPlace("#/", "")
