"""Settings of single listeners: `listener.name.clients.ssl.keystore.location=...`.

The name of the listener is in lower case, as in Kafka. Such a setting counts before the same
setting without the prefix, for that listener only.
"""

from collections.abc import Mapping, Sequence

from barnabas.broker.settings.named_listeners import CONTROLLERS
from barnabas.metadata.config_values import (
    LISTENER_PREFIX,
    ConfigDef,
    ConfigValue,
    InvalidConfigError,
    did_you_mean,
)
from barnabas.metadata.refused_settings import refused_group, why_refused

_PREFIX = LISTENER_PREFIX


class ListenerOverrides:
    """The settings with a prefix, parsed."""

    def __init__(self, properties: Mapping[str, str], table: Mapping[str, ConfigDef]) -> None:
        """Raises `InvalidConfigError`."""
        self._values: dict[str, dict[str, ConfigValue]] = {}
        self._without_effect: dict[str, str] = {}
        for name, text in properties.items():
            if not self.is_one(name):
                continue
            listener, _, setting = name.removeprefix(_PREFIX).partition(".")
            config = table.get(setting)
            if config is None or not config.per_listener:
                known = [each.name for each in table.values() if each.per_listener]
                hint = did_you_mean(setting, known)
                if refused_group(setting) is not None:
                    hint = f"; {why_refused(setting)}"
                raise InvalidConfigError(
                    f"{name}: {setting!r} is not a setting of a listener{hint}"
                )
            if config.without_effect is not None and text != config.default:
                self._without_effect[name] = config.without_effect
            self._values.setdefault(listener.lower(), {})[setting] = config.parse(text)

    @staticmethod
    def is_one(name: str) -> bool:
        return name.startswith(_PREFIX)

    def of(self, listener: str) -> Mapping[str, ConfigValue]:
        """The listener's own settings by their names without the prefix."""
        return self._values.get(listener.lower(), {})

    def check(self, listeners: Sequence[str], properties: Mapping[str, str]) -> dict[str, str]:
        """What has no effect, for instance since it is of a listener of controllers.

        Raises `InvalidConfigError` for a listener that there is not: a mistyped name must not leave
        a listener unprotected.
        """
        known = {name.lower() for name in listeners}
        controllers = {
            name.strip().lower() for name in properties.get(CONTROLLERS, "").split(",")
        } - known
        left_out = dict(self._without_effect)
        for listener, values in self._values.items():
            for setting in values if listener not in known else ():
                name = f"{_PREFIX}{listener}.{setting}"
                if listener not in controllers:
                    raise InvalidConfigError(
                        f"{name}: there is no listener {listener.upper()}"
                        f"{did_you_mean(listener, known)}"
                    )
                left_out[name] = "controllers use the inter-broker listener"
        return left_out
