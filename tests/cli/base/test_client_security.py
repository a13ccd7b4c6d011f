"""Where commands get their client settings from."""

from pathlib import Path

import pytest

from barnabas.cli.base.client_security import ClientConfig
from barnabas.cli.base.profiles import Profiles
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
    config = ClientConfig(Path("work"), None, {"HOME": str(home)})
    assert config.bootstrap == "host:9093"
    assert config.security().protocol is SecurityProtocol.SSL
    elsewhere = {"HOME": "/nowhere", "XDG_CONFIG_HOME": str(home / ".config")}
    assert ClientConfig(Path("work"), None, elsewhere).bootstrap == "host:9093"


def test_a_variable_names_a_file_or_a_profile_for_all_commands(home: Path) -> None:
    for name in ("work", str(home / ".config" / "barnabas" / "work.properties")):
        environment = {"HOME": str(home), "BARNABAS_COMMAND_CONFIG": name}
        assert ClientConfig(None, None, environment).bootstrap == "host:9093"
    assert ClientConfig(None, None, {"HOME": str(home)}).bootstrap == "localhost:9092"


def test_what_is_not_there_is_said(home: Path) -> None:
    with pytest.raises(InvalidArgument, match="--command-config play"):
        ClientConfig(Path("play"), None, {"HOME": str(home)})


def test_the_profile_in_use_counts_where_nothing_names_a_cluster(home: Path) -> None:
    environment = {"HOME": str(home)}
    Profiles(environment).use("work")
    config = ClientConfig(None, None, environment)
    assert config.bootstrap == "host:9093"
    assert config.security().protocol is SecurityProtocol.SSL
    # Its password must not go to a cluster that was named in another way.
    for given, variables in (("other:1", {}), (None, {"BARNABAS_BOOTSTRAP": "other:1"})):
        config = ClientConfig(None, given, environment | variables)
        assert config.bootstrap == "other:1"
        assert config.security().protocol is SecurityProtocol.PLAINTEXT
    Profiles(environment).use(None)
    assert ClientConfig(None, None, environment).bootstrap == "localhost:9092"


def test_an_option_counts_before_the_brokers_of_a_file(home: Path) -> None:
    config = ClientConfig(Path("work"), "other:1", {"HOME": str(home)})
    assert config.bootstrap == "other:1"
    assert config.security().protocol is SecurityProtocol.SSL
