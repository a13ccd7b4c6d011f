"""How to connect on behalf of a user: encrypted as the service, with the user's credentials."""

from collections.abc import Mapping

from barnabas.client.connect.security_settings import SecurityValue

PASSWORD_MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")
"""By which users sign in: those that take a name and a password."""
MECHANISM_NAMES = ("sasl.mechanism", "sasl.mechanisms")
_OWN = ("sasl.", "https.")
"""Settings by which a service signs in itself: no user may get a part of them."""
_PROTOCOL = "security.protocol"


def password_mechanism(security: Mapping[str, SecurityValue]) -> str:
    """By which users sign in, unless they choose another one: that of the service."""
    given = (security.get(each) for each in MECHANISM_NAMES)
    return next((str(each).upper() for each in given if each), PASSWORD_MECHANISMS[0])


def encryption_of(security: Mapping[str, SecurityValue]) -> dict[str, SecurityValue]:
    """The settings of a service without its credentials, for others who sign in."""
    kept = {name: value for name, value in security.items() if not name.startswith(_OWN)}
    is_encrypted = "SSL" in str(kept.get(_PROTOCOL, "")).upper()
    return {**kept, _PROTOCOL: "SASL_SSL" if is_encrypted else "SASL_PLAINTEXT"}


def user_security(
    security: Mapping[str, SecurityValue], user: str, password: str, mechanism: str | None = None
) -> dict[str, SecurityValue]:
    """The settings of a service with the credentials of a user in place of its own."""
    return {
        **encryption_of(security),
        "sasl.mechanism": mechanism or password_mechanism(security),
        "sasl.username": user,
        "sasl.password": password,
    }
