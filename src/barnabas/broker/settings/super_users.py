"""The principals of `super.users`."""

from barnabas.metadata.config_values import InvalidConfigError
from barnabas.security.principal import Principal


def super_users(text: str | None) -> list[Principal]:
    """Principals, separated by semicolons. Raises `InvalidConfigError`."""
    try:
        return [Principal.parse(part.strip()) for part in (text or "").split(";") if part.strip()]
    except ValueError as error:
        raise InvalidConfigError(f"super.users={text}: {error}") from None
