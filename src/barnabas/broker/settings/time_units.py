"""Kafka's settings of the same time in several units: milliseconds win over minutes over hours."""

from collections.abc import Mapping

from barnabas.metadata.config_values import ConfigDef, ConfigType

_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS

_UNITS = {
    "log.retention.ms": {"log.retention.minutes": _MINUTE_MS, "log.retention.hours": _HOUR_MS},
    "log.roll.ms": {"log.roll.hours": _HOUR_MS},
}
"""The setting in milliseconds, and its other forms in the order in which they count."""

_FORMS = {
    form.name: form
    for form in (
        ConfigDef("log.retention.minutes", ConfigType.INT, None, "", low=-1),
        ConfigDef("log.retention.hours", ConfigType.INT, None, "", low=-1),
        ConfigDef("log.roll.hours", ConfigType.INT, None, "", low=1),
    )
}


def in_milliseconds(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties with only the forms in milliseconds. Raises `InvalidConfigError`."""
    made = {name: text for name, text in properties.items() if name not in _FORMS}
    for name, units in _UNITS.items():
        for form, factor in units.items():
            if form not in properties:
                continue
            count = _FORMS[form].parse(properties[form])
            assert isinstance(count, int)
            made.setdefault(name, str(count * factor if count >= 0 else -1))
    return made
