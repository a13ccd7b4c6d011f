"""A secured cluster under test: its certificates and its users."""

import secrets
from pathlib import Path

from barnabas.embedded.errors import ClusterError
from barnabas.embedded.node_request import MECHANISM, SignIn
from barnabas.embedded.ports import HOST
from barnabas.embedded.view import View
from barnabas.embedded.wait import wait_for
from barnabas.security.sasl.scram_credential import DEFAULT_ITERATIONS, SALT_BYTES, salted_password
from barnabas.security.setup.cluster_files import ADMINISTRATOR, ClusterFiles, NodeHosts
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResult,
    ScramCredentialUpsertion,
)

_HOSTS = (HOST, "localhost")
_LATER = frozenset({ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT})


class ClusterSecurity:
    """Made when the cluster is started."""

    def __init__(self, directory: Path, node_ids: tuple[int, ...]) -> None:
        self._files = ClusterFiles(directory)
        self._files.make([NodeHosts(node_id, _HOSTS) for node_id in node_ids])
        self.administrator = self._files.administrator_settings()

    @property
    def sign_in(self) -> SignIn:
        password = self.administrator["sasl.password"]
        return SignIn(str(self._files.ca_file), ADMINISTRATOR, password)

    def node_settings(self, node_id: int, listen: str, advertised: str) -> dict[str, str]:
        return {
            **self._files.node_settings(node_id),
            "listeners": f"SASL_SSL://{listen}",
            "advertised.listeners": f"SASL_SSL://{advertised}",
        }

    def add_user(
        self, view: View, name: str, password: str | None, timeout_s: float
    ) -> dict[str, str]:
        """Add a user or change the password; the settings of its clients."""
        chosen = secrets.token_urlsafe() if password is None else password
        salt = secrets.token_bytes(SALT_BYTES)
        salted = salted_password(MECHANISM, chosen, salt, DEFAULT_ITERATIONS)
        upsertion = ScramCredentialUpsertion(name, MECHANISM, DEFAULT_ITERATIONS, salt, salted)
        request = AlterUserScramCredentialsRequest(upsertions=[upsertion])
        last = "no node answers"

        def answer() -> AlterUserScramCredentialsResult | None:
            nonlocal last
            (result,) = view.ask_any(request, timeout_s).results
            last = result.error_message or ErrorCode(result.error_code).name
            return None if result.error_code in _LATER else result

        result = wait_for(answer, timeout_s, lambda: f"user {name!r} was not added: {last}")
        if result.error_code:
            raise ClusterError(f"user {name!r} was not added: {last}")
        return self._files.client_settings(name, chosen)
