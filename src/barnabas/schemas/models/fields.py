"""The fields of a model, whichever library it is of.

A library is imported by the user's module already, so asking `sys.modules` finds it.
"""

import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import (
    Annotated,
    Any,
    NotRequired,
    Required,
    TypeGuard,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)


class Missing:
    """A field without a default, whose default is not None either."""


MISSING_DEFAULT = Missing()


@dataclass(frozen=True, slots=True)
class ModelField:
    """One field."""

    name: str
    """In data, which may be an alias."""
    attribute: str
    """In objects."""
    hint: Any
    default: object = MISSING_DEFAULT
    factory: Callable[[], object] | None = None
    may_be_left_out: bool = False
    """A key of a TypedDict that is not required."""


def is_model(kind: object) -> TypeGuard[type]:
    return isinstance(kind, type) and (
        is_typeddict(kind) or is_dataclass(kind) or _is_pydantic(kind) or _is_msgspec(kind)
    )


def fields_of(kind: type) -> list[ModelField]:
    """In their order."""
    if is_typeddict(kind):
        return _of_typeddict(kind)
    if _is_pydantic(kind):
        return _of_pydantic(kind)
    if _is_msgspec(kind):
        return _of_msgspec(kind)
    return _of_dataclass(kind)


def _is_pydantic(kind: type) -> bool:
    return "pydantic" in sys.modules and isinstance(
        getattr(kind, "__pydantic_fields__", None), dict
    )


def _is_msgspec(kind: type) -> bool:
    msgspec = sys.modules.get("msgspec")
    return msgspec is not None and issubclass(kind, msgspec.Struct)


def _of_typeddict(kind: Any) -> list[ModelField]:
    found = []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        while get_origin(hint) in (Required, NotRequired):
            (hint,) = get_args(hint)
        left_out = name not in kind.__required_keys__
        found.append(ModelField(name, name, hint, may_be_left_out=left_out))
    return found


def _of_dataclass(kind: type) -> list[ModelField]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        ModelField(
            each.name,
            each.name,
            hints[each.name],
            MISSING_DEFAULT if each.default is MISSING else each.default,
            None if each.default_factory is MISSING else each.default_factory,
        )
        for each in fields(kind)
        if each.init
    ]


def _of_pydantic(kind: Any) -> list[ModelField]:
    found = []
    for name, each in kind.__pydantic_fields__.items():
        hint = Annotated[each.annotation, *each.metadata] if each.metadata else each.annotation
        has_default = not each.is_required() and each.default_factory is None
        found.append(
            ModelField(
                each.alias or name,
                name,
                hint,
                each.default if has_default else MISSING_DEFAULT,
                each.default_factory,
            )
        )
    return found


def _of_msgspec(kind: type) -> list[ModelField]:
    from msgspec import NODEFAULT, structs

    return [
        ModelField(
            each.encode_name,
            each.name,
            each.type,
            MISSING_DEFAULT if each.default is NODEFAULT else each.default,
            None if each.default_factory is NODEFAULT else each.default_factory,
        )
        for each in structs.fields(kind)
    ]
