"""The newest version of a schema, with the fields that earlier versions had.

For readers whose columns must not vanish: new fields come behind the others, a field that was
removed stays, and one that was renamed keeps its name and is found under the new one.
"""

from dataclasses import replace

from barnabas.schemas.avro.types import (
    AvroArray,
    AvroField,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
    simple_name,
)


def with_kept_fields(newest: AvroType, earlier: AvroType) -> AvroType:
    """Types are those of the newest version. Neither may hold itself."""
    if isinstance(newest, AvroRecord) and isinstance(earlier, AvroRecord):
        return _records(newest, earlier) if _are_same(newest, earlier) else newest
    if isinstance(newest, AvroArray) and isinstance(earlier, AvroArray):
        return replace(newest, items=with_kept_fields(newest.items, earlier.items))
    if isinstance(newest, AvroMap) and isinstance(earlier, AvroMap):
        return replace(newest, values=with_kept_fields(newest.values, earlier.values))
    if isinstance(newest, AvroUnion):
        branches: list[AvroType] = earlier.branches if isinstance(earlier, AvroUnion) else [earlier]
        return replace(newest, branches=[_branch(each, branches) for each in newest.branches])
    return newest


def _branch(newest: AvroType, earlier: list[AvroType]) -> AvroType:
    for each in earlier:
        if each.type == newest.type and (
            not isinstance(newest, AvroRecord)
            or (isinstance(each, AvroRecord) and _are_same(newest, each))
        ):
            return with_kept_fields(newest, each)
    return newest


def _are_same(newest: AvroRecord, earlier: AvroRecord) -> bool:
    same = simple_name(newest.name) == simple_name(earlier.name)
    return same or earlier.name in newest.aliases


def _records(newest: AvroRecord, earlier: AvroRecord) -> AvroRecord:
    by_name = {each.name: each for each in newest.fields}
    renamed = {alias: each for each in newest.fields for alias in each.aliases}
    fields: list[AvroField] = []
    taken: set[str] = set()
    for field in earlier.fields:
        found = by_name.get(field.name) or renamed.get(field.name)
        if found is None or found.name in taken:
            fields.append(field)
            continue
        taken.add(found.name)
        aliases = dict.fromkeys([*field.aliases, *found.aliases, found.name])
        fields.append(
            replace(
                found,
                name=field.name,
                type=with_kept_fields(found.type, field.type),
                aliases=[each for each in aliases if each != field.name],
            )
        )
    fields += [each for each in newest.fields if each.name not in taken]
    aliases = dict.fromkeys([*newest.aliases, *earlier.aliases, earlier.name])
    return replace(newest, fields=fields, aliases=[each for each in aliases if each != newest.name])
