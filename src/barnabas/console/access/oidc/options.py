"""Which provider, and which of its tokens the cluster takes."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from barnabas.console.access.oidc.http import check_url
from barnabas.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class OidcOptions:
    """Raises `InvalidArgument`."""

    issuer: str
    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    scopes: str = "openid"
    user_claim: str = "sub"
    """As `sasl.oauthbearer.sub.claim.name` of the cluster."""
    token: str = "access"  # noqa: S105 - which one
    """Or `id`, where access tokens are no JWTs."""

    def __post_init__(self) -> None:
        try:
            check_url(self.issuer)
        except ValueError as error:
            raise InvalidArgument(f"--oidc-issuer {self.issuer}: {error}") from None
        if "openid" not in self.scopes.split():
            raise InvalidArgument(f"--oidc-scopes {self.scopes}: openid has to be among them")
        if self.token not in ("access", "id"):
            raise InvalidArgument(f"--oidc-token {self.token}: use access or id")

    @property
    def name(self) -> str:
        """What the button says."""
        return urlsplit(self.issuer).hostname or self.issuer


def oidc_options(
    issuer: str | None,
    client_id: str | None,
    secret_file: Path | None,
    scopes: str,
    user_claim: str,
    token: str,
) -> OidcOptions | None:
    """From what the command was given. Raises `InvalidArgument`."""
    if issuer is None:
        if client_id is not None or secret_file is not None:
            raise InvalidArgument("--oidc-client-id needs --oidc-issuer URL")
        return None
    if client_id is None:
        raise InvalidArgument("--oidc-issuer needs --oidc-client-id ID")
    secret = None
    if secret_file is not None:
        try:
            secret = secret_file.read_text().strip()
        except OSError as error:
            raise InvalidArgument(
                f"--oidc-client-secret-file {secret_file}: {error.strerror or error}"
            ) from None
    try:
        import jwt  # noqa: F401
    except ImportError:
        raise InvalidArgument("--oidc-issuer needs PyJWT: pip install 'barnabas[oauth]'") from None
    return OidcOptions(issuer, client_id, secret, scopes, user_claim, token)
