"""Kafka's older names of settings, which files written for Kafka still have."""

from collections.abc import Mapping

from barnabas.metadata.config_values import InvalidConfigError

_ALIASES = {"broker.id": "node.id", "log.dir": "log.dirs"}
"""The older name, and the one that it stands for."""

_GENERATED = "-1"
"""As an id, this asks ZooKeeper for one."""


def with_aliases(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties under their newer names. As in Kafka, `log.dirs` wins over `log.dir`.

    Raises `InvalidConfigError` if the ids differ, or it is one that Kafka would generate.
    """
    made = {name: text for name, text in properties.items() if name not in _ALIASES}
    for alias, name in _ALIASES.items():
        text = properties.get(alias)
        if text is None:
            continue
        if alias == "broker.id" and text == _GENERATED:
            raise InvalidConfigError(
                f"{alias}={text}: ids are not generated; set node.id, another one on each node"
            )
        if name == "node.id" and made.get(name, text) != text:
            raise InvalidConfigError(
                f"{alias}={text} and {name}={made[name]} differ; remove {alias}"
            )
        made.setdefault(name, text)
    return made
