"""Schemas as simple as can be: JSON objects of fields, `null` for a field without a default.

A reader can't read what lacks a field without a default.
"""

import json
from collections.abc import Sequence

from barnabas.registry.model.checks import Resolve, UnusableSchemaError
from barnabas.registry.model.contents import SchemaContent
from barnabas.registry.model.entries import SchemaVersion


class SimpleChecks:
    kinds: Sequence[str] = ("AVRO", "JSON")

    def canonical(self, content: SchemaContent, resolve: Resolve, *, normalize: bool) -> str:
        for each in content.references:
            resolve(each)
        return json.dumps(_fields(content), sort_keys=normalize)

    def formatted(self, content: SchemaContent, form: str, resolve: Resolve) -> str:
        del resolve
        return f"{form}:{content.text}"

    def incompatibilities(
        self,
        content: SchemaContent,
        earlier: Sequence[SchemaVersion],
        level: str,
        resolve: Resolve,
    ) -> list[str]:
        del resolve
        new = _fields(content)
        compared = earlier if level.endswith("_TRANSITIVE") else earlier[-1:]
        found = []
        for each in compared:
            old = _fields(each.content)
            missing = []
            if level.startswith(("BACKWARD", "FULL")):
                missing += [name for name in new if new[name] is None and name not in old]
            if level.startswith(("FORWARD", "FULL")):
                missing += [name for name in old if old[name] is None and name not in new]
            found += [f"field {name} of version {each.version}" for name in missing]
        return found


def _fields(content: SchemaContent) -> dict[str, object]:
    try:
        found = json.loads(content.text)
    except ValueError as error:
        raise UnusableSchemaError(str(error)) from error
    if not isinstance(found, dict):
        raise UnusableSchemaError("not an object")
    return found
