"""`barnabas profile`: clusters by name."""

import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.cli.admin.profile import _found_from_anywhere
from tests.cli.conftest import Cli


@pytest.fixture
def user(cli: Cli, tmp_path: Path) -> Cli:
    """Somebody without variables and with an empty home."""
    other = Cli(cli.bootstrap)
    other.environment["HOME"] = str(tmp_path)
    other.environment.pop("BARNABAS_BOOTSTRAP")
    other.environment.pop("XDG_CONFIG_HOME", None)
    return other


def test_commands_talk_to_the_profile_in_use(user: Cli, tmp_path: Path) -> None:
    user.ok("profile", "set", "here", "--bootstrap", user.bootstrap)
    secured = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "ada",
        "sasl.password": "secret",
    }
    given = [part for pair in secured.items() for part in ("--set", "=".join(pair))]
    user.ok("profile", "set", "away", "-b", "localhost:1", *given)
    user.ok("profile", "use", "here")
    assert user.json("profile", "list") == [
        {"profile": "away", "bootstrap": "localhost:1", "in_use": False},
        {"profile": "here", "bootstrap": user.bootstrap, "in_use": True},
    ]
    user.ok("topics", "list")
    shown = user.json("profile", "show", "away")["settings"]
    assert shown == {
        **secured,
        "bootstrap.servers": "localhost:1",
        "sasl.password": "(hidden)",
    }
    kept = tmp_path / ".config" / "barnabas" / "away.properties"
    assert kept.stat().st_mode & 0o077 == 0, "others can read a password"
    user.ok("profile", "delete", "here")
    assert [each["in_use"] for each in user.json("profile", "list")] == [False]


def test_a_profile_is_changed_setting_by_setting(user: Cli) -> None:
    user.ok("profile", "set", "p", "-b", "a:1", "--set", "security.protocol=SSL")
    user.ok("profile", "set", "p", "-b", "b:2", "--unset", "security.protocol")
    assert user.json("profile", "show", "p")["settings"] == {"bootstrap.servers": "b:2"}


def test_a_profile_is_made_from_the_properties_file_of_a_client(user: Cli, tmp_path: Path) -> None:
    given = tmp_path / "client.properties"
    given.write_text(
        "bootstrap.servers=a:1\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        "sasl.username=ada\nsasl.password=secret\nacks=all\n"
    )
    user.ok("profile", "set", "p", "--from", str(given), "--set", "sasl.username=eve")
    shown = user.json("profile", "show", "p")["settings"]
    assert shown == {
        "bootstrap.servers": "a:1",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "eve",
        "sasl.password": "(hidden)",
    }
    kept = tmp_path / ".config" / "barnabas" / "p.properties"
    assert "sasl.password=secret" in kept.read_text()


def test_the_paths_of_a_file_count_from_anywhere() -> None:
    found = _found_from_anywhere({"ssl.ca.location": "ca.pem", "ssl.key.location": "/k.pem"})
    assert found == {"ssl.ca.location": str(Path.cwd() / "ca.pem"), "ssl.key.location": "/k.pem"}


@pytest.mark.parametrize(
    ("arguments", "code", "fix"),
    [
        (("use", "prod"), 1, "barnabas profile list"),
        (("use",), 2, "--none"),
        (("set", "prod"), 2, "--bootstrap"),
        (("set", "../prod", "-b", "a:1"), 2, "letters"),
        (("set", "prod", "-b", "a:b:c"), 2, "a:b:c"),
        (("set", "prod", "-b", "a:1", "--set", "security.protocol=TLS"), 2, "TLS"),
        (("show", "prod"), 1, "no profile prod"),
        (("delete", "prod"), 1, "no profile prod"),
    ],
)
def test_a_mistake_is_said_with_its_remedy(
    user: Cli, arguments: tuple[str, ...], code: int, fix: str
) -> None:
    assert fix in user.fails(code, "profile", *arguments)


def test_a_shell_completes_names_of_topics(user: Cli, cli: Cli) -> None:
    cli.ok("topics", "create", "completed-topic", "--if-not-exists")
    assert completed(user, cli.bootstrap) == ([b"completed-topic"], b"")
    assert completed(user, "localhost:1") == ([], b"")


def completed(user: Cli, bootstrap: str) -> tuple[list[bytes], bytes]:
    """What Tab finds behind `consume completed-`."""
    done = subprocess.run(
        [Path(sys.executable).with_name("barnabas")],
        capture_output=True,
        env={
            **user.environment,
            "_BARNABAS_COMPLETE": "complete_bash",
            "COMP_WORDS": f"barnabas -b {bootstrap} consume completed-",
            "COMP_CWORD": "4",
        },
        timeout=300,
        check=False,
    )
    return done.stdout.split(), done.stderr
