"""Whether a reader with one JSON Schema accepts all that a writer with another one may write.

Each keyword of the reader's schema has to follow from the writer's. Both are seen as lists of
schemas that hold together: `allOf` and `$ref` add to the list. What can't be proven is a finding.
Two rules are Confluent's rather than those of the specification: a required property with a default
may be added, and the branches of `oneOf` are taken to exclude each other.

Kinds and paths of findings are those of Confluent's registry where it has them.
"""

import json
from dataclasses import replace

from barnabas.schemas.check_time import CheckTime
from barnabas.schemas.incompatibility import Incompatibility
from barnabas.schemas.json_schema.documents import JsonSchemaDraft, SchemaDocuments
from barnabas.schemas.json_schema.equality import same
from barnabas.schemas.json_schema.place import ROOT, JsonPlace
from barnabas.schemas.json_schema.presence import array_findings, required_findings
from barnabas.schemas.json_schema.scalars import (
    SIZES,
    number,
    number_findings,
    pattern_findings,
    size_findings,
)
from barnabas.schemas.json_schema.types import enum_findings, overlap, type_findings, types
from barnabas.schemas.json_schema.views import (
    IN_PLACE,
    additional,
    item_at,
    many,
    mapping,
    names,
    prefix,
    properties_for,
    rest,
)
from barnabas.schemas.schema import Json, JsonObject

_MAX_SPLITS = 5
_MAX_NOTS = 3
_TEXT: JsonObject = {"type": "string"}
_NOTHING = 1 << 30
"""Deeper than anything that is compared."""
Findings = list[Incompatibility]
_Pair = tuple[int, tuple[int, ...]]


def json_findings(reader: SchemaDocuments, writer: SchemaDocuments, time: CheckTime) -> Findings:
    return _Comparison(reader, writer, time).compare(reader.root, [writer.root], ROOT)


class _Comparison:
    def __init__(
        self, reader: SchemaDocuments, writer: SchemaDocuments, time: CheckTime, depth: int = 0
    ) -> None:
        self._time = time
        self._reader = reader
        self._writer = writer
        self._depth = depth
        self._compared: dict[_Pair, int] = {}
        """What is compared at the moment, by depth: schemas may contain themselves."""
        self._assumed = _NOTHING
        """The least depth of what was taken to be accepted meanwhile."""
        self._accepted: set[_Pair] = set()
        """What is accepted whatever contains it."""
        self._splits = 0

    def compare(self, reader: Json, written: list[Json], place: JsonPlace) -> Findings:
        """Why the reader may refuse a value that meets all of `written`."""
        self._time.step()
        if reader is True or reader == {}:
            return []
        writers = self._together(written)
        if writers is None:
            return []  # nothing can have been written
        if any(same(each, reader) for each in writers) and self._is_closed(reader):
            return []
        if reader is False:
            message = f"{place.named} is no longer allowed, and may have been written"
            return [place.found("TYPE_CHANGED", message, None, "false")]
        assert isinstance(reader, dict)
        key = (id(reader), tuple(sorted(map(id, writers))))
        if key in self._compared:
            self._assumed = min(self._assumed, self._compared[key])
            return []
        if key in self._accepted:
            return []
        depth = self._compared[key] = len(self._compared)
        above, self._assumed = self._assumed, _NOTHING
        try:
            found = self._compare_or_split(reader, writers, place)
        finally:
            del self._compared[key]
        if self._assumed >= depth:
            self._assumed = _NOTHING
            if not found:
                self._accepted.add(key)
        self._assumed = min(above, self._assumed)
        return found

    def _is_closed(self, reader: Json) -> bool:
        """Whether equal texts mean equal schemas: a `$ref` may mean something else."""
        return self._reader is self._writer or '"$' not in json.dumps(reader)

    def _together(self, written: list[Json]) -> list[JsonObject] | None:
        """All schemas that hold together; None if no value meets them."""
        found: list[JsonObject] = []
        todo = list(written)
        seen: set[int] = set()
        while todo:
            each = todo.pop(0)
            if each is False:
                return None
            if not isinstance(each, dict) or id(each) in seen:
                continue
            seen.add(id(each))
            self._time.step()
            if self._writer.reference_of(each) is not None:
                todo.append(self._writer.referred(each))
                if self._writer.draft(each) <= JsonSchemaDraft.DRAFT_7:
                    continue  # older drafts ignore what is next to a $ref
            found.append(each)
            todo += many(each, "allOf")
        if found and not types(found):
            return None
        return found

    def _compare_or_split(
        self, reader: JsonObject, writers: list[JsonObject], place: JsonPlace
    ) -> Findings:
        found = self._keywords(reader, writers, place)
        if not found:
            return []
        for writer in writers:
            for key in ("anyOf", "oneOf"):
                branches = many(writer, key)
                if branches and self._splits < _MAX_SPLITS:
                    return self._branches(reader, writers, writer, key, place)
        return found

    def _branches(
        self,
        reader: JsonObject,
        writers: list[JsonObject],
        split: JsonObject,
        key: str,
        place: JsonPlace,
    ) -> Findings:
        """A value that was written meets one of the branches: each has to be accepted."""
        without = self._writer.without(split, key)
        others: list[Json] = [without, *(each for each in writers if each is not split)]
        found: Findings = []
        self._splits += 1
        for branch in many(split, key):
            found += self.compare(reader, [*others, branch], place)
        self._splits -= 1
        fewer = len(many(reader, "anyOf") or many(reader, "oneOf")) < len(many(split, key))
        if fewer:
            found = [_narrowed(each, place) for each in found]
        unique = {(each.kind, each.path, each.message): each for each in found}
        return list(unique.values())

    def _keywords(
        self, reader: JsonObject, writers: list[JsonObject], place: JsonPlace
    ) -> Findings:
        found: Findings = []
        if self._reader.reference_of(reader) is not None:
            found += self.compare(self._reader.referred(reader), [*writers], place)
            if self._reader.draft(reader) <= JsonSchemaDraft.DRAFT_7:
                return found
        wrong = type_findings(reader, writers, place)
        if wrong:
            return found + wrong
        held = types(writers)
        found += enum_findings(reader, writers, place)
        for kind, keys in SIZES.items():
            if kind in held:
                for key in keys:
                    found += size_findings(key, reader, writers, place)
        if "string" in held:
            found += pattern_findings(reader, writers, place)
        if held & {"number", "integer"}:
            found += number_findings(reader, writers, place)
        if "object" in held:
            found += self._objects(reader, writers, place)
        if "array" in held:
            found += self._arrays(reader, writers, place)
        return found + self._combined(reader, writers, place)

    def _objects(self, reader: JsonObject, writers: list[JsonObject], place: JsonPlace) -> Findings:
        found: Findings = []
        for name in dict.fromkeys(
            name for each in (reader, *writers) for name in mapping(each, "properties")
        ):
            found += self._property(name, reader, writers, place)
        found += required_findings(reader, writers, place)
        found += self._other_properties(reader, writers, place)
        found += self._dependencies(reader, writers, place)
        if "propertyNames" in reader:
            held = [each["propertyNames"] for each in writers if "propertyNames" in each]
            inner = JsonPlace(place.keyword("propertyNames").path, f"names in {place.named}")
            found += self.compare(reader["propertyNames"], [*held, _TEXT], inner)
        return found + self._unevaluated("unevaluatedProperties", reader, writers, place)

    def _property(
        self, name: str, reader: JsonObject, writers: list[JsonObject], place: JsonPlace
    ) -> Findings:
        inner = place.member(name)
        written = [each for writer in writers for each in properties_for(writer, name, self._time)]
        found: Findings = []
        for each in properties_for(reader, name, self._time):
            found += self.compare(each, written, inner)
        if not found:
            return []
        is_read = name in mapping(reader, "properties")
        was_written = any(name in mapping(each, "properties") for each in writers)
        if is_read and was_written:
            return found
        reasons = "; ".join(each.message for each in found)
        if is_read:
            is_open = all(each is True or each == {} for each in written)
            model = "OPEN_CONTENT_MODEL" if is_open else "PARTIALLY"
            message = (
                f"{inner.field} was added, and objects may have been written with any value for "
                "it, because additionalProperties is not false"
            )
            if model == "PARTIALLY":
                kind = "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
                message = (
                    f"{inner.field} was added, and other values may have been written: {reasons}"
                )
            else:
                kind = "PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"
            return [inner.found(kind, message)]
        if additional(reader) is False and not mapping(reader, "patternProperties"):
            kind = "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL"
            message = (
                f"{inner.field} was removed, and objects with it are refused, because "
                "additionalProperties is false"
            )
            return [inner.found(kind, message)]
        kind = "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
        message = f"{inner.field} was removed, and what was written may be refused: {reasons}"
        return [inner.found(kind, message)]

    def _other_properties(
        self, reader: JsonObject, writers: list[JsonObject], place: JsonPlace
    ) -> Findings:
        """Properties that are not named: those of patterns, and all others."""
        found: Findings = []
        others: list[Json] = [additional(each) for each in writers]
        patterns = mapping(reader, "patternProperties")
        held = {
            key: each
            for writer in writers
            for key, each in mapping(writer, "patternProperties").items()
        }
        for pattern, schema in patterns.items():
            inner = JsonPlace(
                place.keyword("patternProperties", pattern).path, f"{place.named}[{pattern}]"
            )
            if pattern in held:
                found += self.compare(schema, [held[pattern]], inner)
                continue
            found += self.compare(schema, others, inner)
            for each in held.values():
                found += self.compare(schema, [each], inner)
        inner = JsonPlace(
            place.keyword("additionalProperties").path, f"other properties of {place.named}"
        )
        wanted = additional(reader)
        problems = self.compare(wanted, others, inner)
        for pattern, each in held.items():
            if pattern not in patterns:
                problems += self.compare(wanted, [each], inner)
        if problems:
            closed = wanted is False
            kind = "ADDITIONAL_PROPERTIES_REMOVED" if closed else "ADDITIONAL_PROPERTIES_NARROWED"
            reasons = "; ".join(each.message for each in problems)
            message = f"{inner.field} are restricted, and may have been written: {reasons}"
            if closed:
                message = f"{inner.field} are no longer allowed, and may have been written"
            found.append(inner.found(kind, message))
        return found

    def _dependencies(
        self, reader: JsonObject, writers: list[JsonObject], place: JsonPlace
    ) -> Findings:
        found: Findings = []
        for key in ("dependencies", "dependentRequired", "dependentSchemas"):
            for name, wanted in mapping(reader, key).items():
                held = [
                    mapping(each, other)[name]
                    for each in writers
                    for other in ("dependencies", "dependentRequired", "dependentSchemas")
                    if name in mapping(each, other)
                ]
                inner = place.keyword(key, name)
                where = f"{place.named} with {name}"
                if isinstance(wanted, list):
                    lists = [each for each in held if isinstance(each, list)]
                    known = {item for each in lists for item in each if isinstance(item, str)}
                    known |= {item for each in writers for item in names(each, "required")}
                    missing = [
                        str(each)
                        for each in wanted
                        if not isinstance(each, str) or each not in known
                    ]
                    if missing:
                        kind = "EXTENDED" if lists else "ADDED"
                        wants = ", ".join(missing)
                        message = f"{where} needs {wants}, and may have been written without"
                        found.append(inner.found(f"DEPENDENCY_ARRAY_{kind}", message))
                elif self.compare(
                    wanted,
                    [*writers, *(each for each in held if not isinstance(each, list))],
                    inner,
                ):
                    message = f"{where} has to meet a schema that did not hold when it was written"
                    found.append(inner.found("DEPENDENCY_SCHEMA_ADDED", message))
        return found

    def _arrays(self, reader: JsonObject, writers: list[JsonObject], place: JsonPlace) -> Findings:
        found: Findings = []
        limits = [each for each in (number(one, "maxItems") for one in writers) if each is not None]
        longest = (
            max(len(prefix(each)) for each in (reader, *writers))
            if writers
            else len(prefix(reader))
        )
        for position in range(longest):
            if limits and position >= min(limits):
                break
            written = [item_at(each, position) for each in writers]
            inner = place.item("items", position)
            found += self.compare(item_at(reader, position), written, inner)
        if not limits or min(limits) > longest:
            key = "additionalItems" if prefix(reader) else "items"
            written = [rest(each) for each in writers]
            found += self.compare(rest(reader), written, place.item(key))
        found += array_findings(reader, writers, place)
        return found + self._unevaluated("unevaluatedItems", reader, writers, place)

    def _unevaluated(
        self, key: str, reader: JsonObject, writers: list[JsonObject], place: JsonPlace
    ) -> Findings:
        """What is unevaluated depends on all branches that hold: only equal schemas are proven."""
        if reader.get(key, True) is True or reader.get(key) == {}:
            return []
        branched = any(key in each and any(one in each for one in IN_PLACE) for each in writers)
        if not branched and not any(each in reader for each in IN_PLACE):
            return []  # then it is additionalProperties or the rest of the items
        if any(same(each, reader) for each in writers) and self._is_closed(reader):
            return []
        message = f"{key} of {place.named} is new or next to other branches, and may refuse values"
        kind = "ADDITIONAL_PROPERTIES_NARROWED" if "Prop" in key else "ADDITIONAL_ITEMS_NARROWED"
        return [place.keyword(key).found(kind, message)]

    def _combined(
        self, reader: JsonObject, writers: list[JsonObject], place: JsonPlace
    ) -> Findings:
        found: Findings = []
        for position, each in enumerate(many(reader, "allOf")):
            problems = self.compare(each, [*writers], place.keyword("allOf", position))
            found += problems
        for key in ("anyOf", "oneOf"):
            branches = many(reader, key)
            if branches and not self._meets_one(branches, writers, place):
                found.append(self._no_branch(key, branches, writers, place))
        if "not" in reader and not self._meets_not(reader["not"], writers, place):
            message = f"{place.named} may have been written with a value that is excluded now"
            found.append(place.keyword("not").found("NOT_TYPE_EXTENDED", message))
        if "if" in reader and ("then" in reader or "else" in reader):
            found += self._conditional(reader, writers, place)
        return found

    def _meets_one(self, branches: list[Json], writers: list[JsonObject], place: JsonPlace) -> bool:
        return any(not self.compare(each, [*writers], place) for each in branches)

    def _no_branch(
        self, key: str, branches: list[Json], writers: list[JsonObject], place: JsonPlace
    ) -> Incompatibility:
        problems = min((self.compare(each, [*writers], place) for each in branches), key=len)
        reasons = "; ".join(each.message for each in problems)
        message = (
            f"{place.named} may have been written so that no branch of {key} accepts it: {reasons}"
        )
        return place.found("COMBINED_TYPE_SUBSCHEMAS_CHANGED", message)

    def _meets_not(self, excluded: Json, writers: list[JsonObject], place: JsonPlace) -> bool:
        """Whether no value that was written can be one that is excluded."""
        if self._depth > _MAX_NOTS:
            return False
        turned = _Comparison(self._writer, self._reader, self._time, self._depth + 1)
        if any(
            "not" in each and not turned.compare(each["not"], [excluded], place) for each in writers
        ):
            return True
        together = turned._together([excluded])
        return together is None or not overlap(types(together), types(writers))

    def _conditional(
        self, reader: JsonObject, writers: list[JsonObject], place: JsonPlace
    ) -> Findings:
        group = ("if", "then", "else")
        for each in writers:
            if all(same(each.get(key), reader.get(key)) for key in group) and self._is_closed(
                {key: reader[key] for key in group if key in reader}
            ):
                return []
        found: Findings = []
        known = [reader["if"]] if self._is_closed(reader["if"]) else []
        for key, extra in (("then", known), ("else", [])):
            if key in reader and self.compare(reader[key], [*writers, *extra], place):
                message = (
                    f"{place.named} has to meet {key!r}, which may not hold for what was written"
                )
                found.append(place.keyword(key).found("CONDITION_CHANGED", message))
        return found


def _narrowed(found: Incompatibility, place: JsonPlace) -> Incompatibility:
    if found.kind != "COMBINED_TYPE_SUBSCHEMAS_CHANGED" or found.path != place.path:
        return found
    return replace(found, kind="SUM_TYPE_NARROWED")
