"""The file with the users that a new cluster begins with, and when it may be missing."""

import asyncio
from pathlib import Path

import pytest

from barnabas.broker.settings.config import ConfigError
from barnabas.security.sasl.initial_users import initial_user
from barnabas.security.sasl.scram_credential import ScramMechanism
from tests.broker.net.test_required_secret import PLAINTEXT, start


def test_a_node_starts_without_the_file_once_it_belongs_to_a_cluster(tmp_path: Path) -> None:
    async def users(chosen: dict[str, str], data: str = "data") -> set[str]:
        server = await start(tmp_path / data, chosen)
        try:
            while not server.node.image.scram.credentials:
                await asyncio.sleep(0.01)
            found = server.node.image.scram.credentials.values()
            return {user for users in found for user in users}
        finally:
            await server.stop()

    path = tmp_path / "users"
    chosen = {**PLAINTEXT, "initial.users.file": str(path)}
    with pytest.raises(ConfigError, match=r"No such file .*; create the file with `barnabas"):
        asyncio.run(users(chosen, "new"))
    user = initial_user(ScramMechanism.SCRAM_SHA_512, "admin", "correct horse", b"salt" * 4)
    path.write_text(f"{user}\n")
    assert asyncio.run(users(chosen)) == {"admin"}
    path.unlink()
    assert asyncio.run(users(chosen)) == {"admin"}


def test_errors_about_missing_files_say_where_to_get_them(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    with pytest.raises(ConfigError, match="openssl rand -base64 32`, or copy it from another node"):
        asyncio.run(start(tmp_path / "one", {**PLAINTEXT, "cluster.secret.file": missing}))
    tls = {"listeners": "SSL://127.0.0.1:0", "ssl.keystore.location": missing}
    with pytest.raises(ConfigError, match=r"No such file .*; create .*security init"):
        asyncio.run(start(tmp_path / "two", tls))
