"""How commands encrypt their connections and sign in: variables, `--command-config`, profiles.

`--command-config` names a file, or a profile: `work` stands for `work.properties` in the folder
`barnabas` of the user's configuration. `BARNABAS_COMMAND_CONFIG` does the same for all commands.
Without both, the profile in use counts, unless `--bootstrap` or a variable names a cluster.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from barnabas.cli.base.output import say
from barnabas.cli.base.profiles import Profiles
from barnabas.cli.base.properties import read_properties

if TYPE_CHECKING:
    from barnabas.client.connect.security_settings import SecuritySettings

_PREFIX = "BARNABAS_"
_OPTION = "--command-config"
_BOOTSTRAP = "bootstrap.servers"
CONFIG_VARIABLE = "BARNABAS_COMMAND_CONFIG"
BOOTSTRAP_VARIABLE = "BARNABAS_BOOTSTRAP"
DEFAULT_BOOTSTRAP = "localhost:9092"
_OF_SECURITY = ("security.", "ssl.", "sasl.", "https.")

CommandConfig = Annotated[
    Path | None,
    typer.Option(
        _OPTION,
        metavar="FILE",
        help="Properties file with client settings, bootstrap.servers, security.protocol, ssl.*, "
        f"sasl.*; or the name of a profile. Default: ${CONFIG_VARIABLE}.",
        show_default=False,
    ),
]


class ClientConfig:
    """Client settings from the environment and from a file, which counts before it.

    `bootstrap` are the brokers that an option names, `path` is the file that another one names.
    """

    def __init__(
        self,
        path: Path | None,
        bootstrap: str | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        uses_profile: bool = True,
    ) -> None:
        """Raises `InvalidArgument` if the file can't be read."""
        from barnabas.client.connect.security_settings import SECURITY_SETTINGS

        environment = os.environ if environment is None else environment
        by_variable = {_PREFIX + name.upper().replace(".", "_"): name for name in SECURITY_SETTINGS}
        self._settings = {
            name: environment[variable]
            for variable, name in by_variable.items()
            if variable in environment
        }
        path = config_of(path, environment)
        if path is None and uses_profile:
            path = _profile_in_use(bootstrap, environment)
        given = {} if path is None else read_properties(path, _OPTION)
        from_file = given.pop(_BOOTSTRAP, None)
        self.named_bootstrap = bootstrap or from_file or environment.get(BOOTSTRAP_VARIABLE)
        """The brokers that the option names, the file, or the variable."""
        self.bootstrap = self.named_bootstrap or DEFAULT_BOOTSTRAP
        for name, value in given.items():
            if name.startswith(_OF_SECURITY):
                self._settings[name] = value
            else:
                say(f"warning: ignored {name} of {path}: commands read security settings only")

    @property
    def security_settings(self) -> Mapping[str, str]:
        """As `Consumer(security=...)` takes them."""
        return self._settings

    def security(self) -> "SecuritySettings":
        """Raises `InvalidArgument`."""
        from barnabas.client.connect.security_settings import security_settings

        return security_settings(self._settings)


class ClusterOverride(NamedTuple):
    """What a command says of the cluster of a program that names one itself; None: nothing."""

    bootstrap: str | None
    security: Mapping[str, str] | None


def cluster_override(
    path: Path | None, bootstrap: str | None, environment: Mapping[str, str] | None = None
) -> ClusterOverride:
    """What options and variables say. The profile in use is for commands, not for programs.

    Raises `InvalidArgument` if the file can't be read.
    """
    environment = os.environ if environment is None else environment
    path = config_of(path, environment)
    given = ClientConfig(path, bootstrap, environment, uses_profile=False)
    settings = given.security_settings
    return ClusterOverride(given.named_bootstrap, settings if path or settings else None)


def config_of(path: Path | None, environment: Mapping[str, str]) -> Path | None:
    """The file that an option or the variable names, also as a profile."""
    if path is None and environment.get(CONFIG_VARIABLE):
        path = Path(environment[CONFIG_VARIABLE])
    if path is None or path.exists() or path.name != str(path):
        return path
    profile = Profiles(environment).path(path.name)
    return profile if profile.exists() else path


def _profile_in_use(bootstrap: str | None, environment: Mapping[str, str]) -> Path | None:
    """Unless brokers are named."""
    if bootstrap or environment.get(BOOTSTRAP_VARIABLE):
        return None
    profiles = Profiles(environment)
    in_use = profiles.in_use()
    return None if in_use is None else profiles.path(in_use)
