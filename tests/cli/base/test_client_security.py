"""Where commands get their client settings from."""

from pathlib import Path

import pytest

from barnabas.cli.base.client_security import ClientConfig
from barnabas.errors import InvalidArgument
from barnabas.wire.endpoint import SecurityProtocol

TEXT = "bootstrap.servers=host:9093\nsecurity.protocol=SSL\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    profiles = tmp_path / ".config" / "barnabas"
    profiles.mkdir(parents=True)
    (profiles / "work.properties").write_text(TEXT)
    return tmp_path


def test_a_profile_has_a_name(home: Path) -> None:
    config = ClientConfig(Path("work"), {"HOME": str(home)})
    assert config.bootstrap == "host:9093"
    assert config.security().protocol is SecurityProtocol.SSL
    elsewhere = {"HOME": "/nowhere", "XDG_CONFIG_HOME": str(home / ".config")}
    assert ClientConfig(Path("work"), elsewhere).bootstrap == "host:9093"


def test_a_variable_names_a_file_or_a_profile_for_all_commands(home: Path) -> None:
    for name in ("work", str(home / ".config" / "barnabas" / "work.properties")):
        environment = {"HOME": str(home), "BARNABAS_COMMAND_CONFIG": name}
        assert ClientConfig(None, environment).bootstrap == "host:9093"
    assert ClientConfig(None, {"HOME": str(home)}).bootstrap is None


def test_what_is_not_there_is_said(home: Path) -> None:
    with pytest.raises(InvalidArgument, match="--command-config play"):
        ClientConfig(Path("play"), {"HOME": str(home)})
