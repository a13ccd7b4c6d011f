"""Changes of settings and modes."""

from barnabas.registry.model.config import (
    IMPORT,
    RULE_SETS,
    changed_config,
    checked_mode,
    level_of,
    object_of,
)
from barnabas.registry.model.contents import Json, JsonObject
from barnabas.registry.model.contracts import check_rules
from barnabas.registry.model.errors import (
    invalid_schema,
    invalid_subject,
    no_config,
    no_mode,
    not_permitted,
)
from barnabas.registry.model.image import RegistryImage
from barnabas.registry.model.lookups import subjects_with
from barnabas.registry.model.names import ALL_CONTEXTS, is_valid_subject, parse_subject
from barnabas.registry.model.records import config_record, mode_record, writer_record
from barnabas.registry.model.registration import MAX_ID, RegistryChange


def set_config(
    image: RegistryImage, subject: str | None, request: JsonObject
) -> RegistryChange[JsonObject]:
    """Settings of a subject, a context, or all (None); returns them. Raises `RegistryRefusal`."""
    _check_name(subject)
    config = changed_config(image.config(subject), request)
    for each in RULE_SETS:
        check_rules(object_of(config, each) if each in request else None)
    return RegistryChange(config, [config_record(subject, config)])


def delete_config(image: RegistryImage, subject: str | None) -> RegistryChange[JsonObject]:
    """Back to the settings above; returns what was set. Raises `RegistryRefusal`."""
    config = image.config(subject)
    if config is None:
        if subject is not None:
            raise no_config(subject)
        return RegistryChange(image.config_in_force(None))
    answer = {"compatibilityLevel": level_of(image.config_in_force(subject)), **config}
    return RegistryChange(answer, [config_record(subject, None)])


def set_mode(
    image: RegistryImage, subject: str | None, mode: Json, *, force: bool = False
) -> RegistryChange[str]:
    """The mode of a subject, a context, or all (None); returns it. Raises `RegistryRefusal`.

    A subject with schemas is only switched to IMPORT by `force`: imported ids could be theirs.
    """
    _check_name(subject)
    wanted = checked_mode(mode)
    if wanted == IMPORT and not force and image.mode_in_force(subject) != IMPORT:
        found = subjects_with(image, ALL_CONTEXTS if subject is None else subject)
        if subject is not None and parse_subject(subject).subject:
            found = [each for each in found if each == subject]
        if found:
            raise not_permitted("Cannot import since found existing subjects")
    return RegistryChange(wanted, [mode_record(subject, wanted)])


def delete_mode(image: RegistryImage, subject: str | None) -> RegistryChange[str]:
    """Back to the mode above; returns what was set. Raises `RegistryRefusal`."""
    mode = image.mode(subject)
    if mode is None:
        if subject is not None:
            raise no_mode(subject)
        return RegistryChange(image.mode_in_force(None))
    return RegistryChange(mode, [mode_record(subject, None)])


def reserve_ids(image: RegistryImage, context: str, wanted: Json) -> RegistryChange[int]:
    """Give only larger ids to a context; returns its largest. Raises `RegistryRefusal`."""
    if not isinstance(wanted, int) or isinstance(wanted, bool) or not 0 <= wanted <= MAX_ID:
        raise invalid_schema(f"maxId has to be from 0 to {MAX_ID}, not {wanted!r}")
    known = image.max_ids.get(context, 0)
    if wanted <= known:
        return RegistryChange(known)
    largest = {**image.max_ids, context: wanted}
    return RegistryChange(wanted, [writer_record(image.writer, largest)])


def _check_name(subject: str | None) -> None:
    """A subject, or a context without a subject."""
    if subject is None:
        return
    name = parse_subject(subject)
    if name.subject or not name.context.startswith("."):
        if not is_valid_subject(subject):
            raise invalid_subject(subject)
    elif name.context == ".":
        raise invalid_subject(subject)
