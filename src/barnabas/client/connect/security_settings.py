"""How a client encrypts its connections and signs in, by Kafka's names of settings.

The names are those of the Java clients, and those of librdkafka where they differ. Certificates and
keys are in PEM format. Values of secret settings are never shown.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TypeAlias

from barnabas.errors import InvalidArgument
from barnabas.tls.tls_files import VERSIONS, Pem, TlsFiles
from barnabas.wire.endpoint import SecurityProtocol

_CERTIFICATES = ("ssl.certificate.location", "ssl.keystore.location")
_CERTIFICATE_TEXTS = ("ssl.certificate.pem", "ssl.keystore.certificate.chain")
_KEYS = ("ssl.key.location",)
_KEY_TEXTS = ("ssl.key.pem", "ssl.keystore.key")
_TRUSTED = ("ssl.ca.location", "ssl.truststore.location")
_TRUSTED_TEXTS = ("ssl.ca.pem", "ssl.truststore.certificates")
_CRL = "ssl.crl.location"
_TYPES = ("ssl.keystore.type", "ssl.truststore.type")
_PROTOCOL = "security.protocol"
_IDENTIFICATION = "ssl.endpoint.identification.algorithm"
_ENABLED = "ssl.enabled.protocols"
_MECHANISMS = ("sasl.mechanism", "sasl.mechanisms")

_TOKEN = "sasl.oauthbearer.token"  # noqa: S105 - its name, which Kafka does not have
_TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105 - its name

_CLIENT_IDS = (
    "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.id",
)
_CLIENT_SECRETS = (
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.client.secret",
)
_SCOPE = "sasl.oauthbearer.scope"
_HTTPS_CA = "https.ca.location"
_TOKEN_AUTH = "sasl.tokenauth"  # noqa: S105 - its name, an option of JAAS in Kafka

SecurityValue: TypeAlias = str | Callable[[], str]
"""A setting; the token may also be a function that returns it."""

SECURITY_SETTINGS = frozenset(
    (
        *_CERTIFICATES,
        *_CERTIFICATE_TEXTS,
        *_KEYS,
        *_KEY_TEXTS,
        *_TRUSTED,
        *_TRUSTED_TEXTS,
        _CRL,
        *_TYPES,
        *_MECHANISMS,
        _PROTOCOL,
        _IDENTIFICATION,
        _ENABLED,
        "ssl.key.password",
        "sasl.username",
        "sasl.password",
        "sasl.jaas.config",
        _TOKEN,
        _TOKEN_URL,
        _TOKEN_AUTH,
        *_CLIENT_IDS,
        *_CLIENT_SECRETS,
        _SCOPE,
        _HTTPS_CA,
    )
)
"""All settings that are understood here."""


@dataclass(frozen=True, slots=True)
class SecuritySettings:
    """What a client needs to connect to a secured cluster; without anything it connects plainly."""

    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    tls: TlsFiles = field(default_factory=TlsFiles)
    check_hostname: bool = True
    sasl_mechanism: str | None = None
    sasl_username: str | None = None
    sasl_password: str | None = field(default=None, repr=False)
    sasl_jaas_config: str | None = field(default=None, repr=False)
    sasl_token: SecurityValue | None = field(default=None, repr=False)
    sasl_token_url: str | None = None
    sasl_token_auth: bool = False
    """Whether user and password are id and HMAC of a delegation token."""
    sasl_client_id: str | None = None
    """For tokens from an endpoint, with the next two."""
    sasl_client_secret: str | None = field(default=None, repr=False)
    sasl_scope: str | None = None
    https_ca_location: str | None = None


NO_SECURITY = SecuritySettings()


def security_settings(given: Mapping[str, SecurityValue] | None) -> SecuritySettings:
    """Read settings by Kafka's names. Raises `InvalidArgument`."""
    if not given:
        return NO_SECURITY
    token = given.get(_TOKEN)
    settings: dict[str, str] = {}
    for name, value in given.items():
        if name not in SECURITY_SETTINGS:
            near = get_close_matches(name, SECURITY_SETTINGS, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InvalidArgument(f"unknown security setting {name!r}{hint}")
        if isinstance(value, str):
            settings[name] = value
        elif name != _TOKEN or not callable(value):
            raise TypeError(f"security setting {name!r} must be a str")
    made = SecuritySettings(
        _protocol(settings.get(_PROTOCOL, NO_SECURITY.protocol.name)),
        _tls(settings),
        _checks_hostname(settings.get(_IDENTIFICATION, "https")),
        _first(settings, _MECHANISMS),
        settings.get("sasl.username"),
        settings.get("sasl.password"),
        settings.get("sasl.jaas.config"),
        token,
        settings.get(_TOKEN_URL),
        _is_true(_TOKEN_AUTH, settings.get(_TOKEN_AUTH, "false")),
        _first(settings, _CLIENT_IDS),
        _first(settings, _CLIENT_SECRETS),
        settings.get(_SCOPE),
        settings.get(_HTTPS_CA),
    )
    protocol = made.protocol
    _check_used(settings, "ssl.", protocol, is_used=protocol.has_tls, instead="SSL or SASL_SSL")
    for prefix in ("sasl.", "https."):
        _check_used(
            settings,
            prefix,
            protocol,
            is_used=protocol.has_sasl,
            instead="SASL_SSL or SASL_PLAINTEXT",
        )
    return made


def _check_used(
    settings: Mapping[str, str],
    prefix: str,
    protocol: SecurityProtocol,
    *,
    is_used: bool,
    instead: str,
) -> None:
    unused = [name for name in settings if name.startswith(prefix)]
    if unused and not is_used:
        raise InvalidArgument(
            f"{unused[0]} has no effect with {_PROTOCOL}={protocol.name}; set {_PROTOCOL}={instead}"
        )


def _protocol(text: str) -> SecurityProtocol:
    try:
        return SecurityProtocol[text.strip().upper()]
    except KeyError:
        known = ", ".join(SecurityProtocol.__members__)
        raise InvalidArgument(f"unknown {_PROTOCOL} {text!r}; use one of {known}") from None


def _tls(settings: Mapping[str, str]) -> TlsFiles:
    for name in _TYPES:
        if settings.get(name, "PEM").upper() != "PEM":
            raise InvalidArgument(
                f"{name}={settings[name]} is not supported; convert the store to PEM files"
            )
    files = TlsFiles(
        _pem(settings, _CERTIFICATES, _CERTIFICATE_TEXTS),
        _pem(settings, _KEYS, _KEY_TEXTS),
        settings.get("ssl.key.password"),
        _pem(settings, _TRUSTED, _TRUSTED_TEXTS),
        revoked=Pem(_CRL, settings[_CRL]) if settings.get(_CRL) else None,
    )
    if files.key is not None and files.certificate is None:
        raise InvalidArgument(f"{files.key.setting} needs {_CERTIFICATES[0]}, its certificate")
    if _ENABLED in settings:
        files = replace(files, versions=_versions(settings[_ENABLED]))
    return files


def _versions(text: str) -> tuple[str, ...]:
    versions = tuple(item.strip() for item in text.split(",") if item.strip())
    if not versions or not set(versions) <= set(VERSIONS):
        raise InvalidArgument(f"{_ENABLED}={text}: use one or more of {', '.join(VERSIONS)}")
    return versions


def _checks_hostname(text: str) -> bool:
    if text.strip().lower() not in ("", "https", "none"):
        raise InvalidArgument(
            f"unknown {_IDENTIFICATION} {text!r}; use https, or nothing to accept a certificate "
            "of another host"
        )
    return text.strip().lower() == "https"


def _pem(
    settings: Mapping[str, str], locations: tuple[str, ...], texts: tuple[str, ...]
) -> Pem | None:
    given = [name for name in (*locations, *texts) if settings.get(name)]
    if not given:
        return None
    if len(given) > 1:
        raise InvalidArgument(f"{given[0]} and {given[1]} cannot be combined")
    name = given[0]
    if name in locations:
        return Pem(name, settings[name])
    return Pem(name, text=settings[name])


def _is_true(name: str, text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise InvalidArgument(f"{name}={text}: use true or false")
    return text.strip().lower() == "true"


def _first(settings: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((settings[name] for name in names if name in settings), None)
