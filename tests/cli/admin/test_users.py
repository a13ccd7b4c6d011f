"""`barnabas users`."""

from pathlib import Path
from uuid import uuid4

from tests.cli.conftest import Cli

PASSWORD = "corréct horse"


def test_add_list_change_and_remove(cli: Cli, tmp_path: Path) -> None:
    user = f"user-{uuid4().hex[:8]}"
    assert cli.ok("users", "add", user, stdin=f"{PASSWORD}\n") == ""
    both = {"SCRAM-SHA-256": 16384, "SCRAM-SHA-512": 16384}
    assert {"user": user, "mechanisms": both} in cli.json("users", "list")
    assert "exists" in cli.fails(1, "users", "add", user, stdin=PASSWORD)

    file = tmp_path / "password"
    file.write_text("another\n")
    changed = cli.json(
        "users", "change", user, "--password-file", str(file), "--iterations", "8192",
        "--mechanism", "scram-sha-512",
    )  # fmt: skip
    assert changed == {"user": user, "changed": ["SCRAM-SHA-512"]}
    shown = cli.ok("users", "list")
    assert [line.split() for line in shown.splitlines() if line.startswith(user)] == [
        [user, "SCRAM-SHA-256", "16384"],
        [user, "SCRAM-SHA-512", "8192"],
    ]

    removed = cli.json("users", "remove", user, "--mechanism", "SCRAM-SHA-256")
    assert removed == {"user": user, "removed": ["SCRAM-SHA-256"]}
    cli.ok("users", "remove", user)
    assert user not in cli.ok("users", "list")
    assert f"no user {user}" in cli.fails(1, "users", "remove", user)
    assert f"no user {user}" in cli.fails(1, "users", "change", user, stdin=PASSWORD)


def test_what_can_not_be_a_password_is_refused_in_one_line(cli: Cli, tmp_path: Path) -> None:
    user = f"user-{uuid4().hex[:8]}"
    assert "empty" in cli.fails(2, "users", "add", user, stdin="\n")
    missing = str(tmp_path / "missing")
    assert missing in cli.fails(1, "users", "add", user, "--password-file", missing)
    both = cli.fails(2, "users", "add", user, "--password", PASSWORD, "--password-file", missing)
    assert PASSWORD not in both
    weak = cli.fails(2, "users", "add", user, "--iterations", "1", stdin=PASSWORD)
    assert "16384" in weak
    unknown = cli.fails(2, "users", "add", user, "--mechanism", "PLAIN", stdin=PASSWORD)
    assert "SCRAM-SHA-256 or SCRAM-SHA-512" in unknown
    assert PASSWORD not in weak + unknown
    assert user not in cli.ok("users", "list")
