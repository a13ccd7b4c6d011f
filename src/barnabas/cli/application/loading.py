"""An application by its name, as MODULE:NAME, or by its file."""

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.base.command import CommandError, UsageError

if TYPE_CHECKING:
    from barnabas.app.app import App


def load(name: str) -> "App":
    """Import it; modules of the working directory are found."""
    from barnabas.app.app import App

    module_name, colon, attribute = name.partition(":")
    if not module_name or (colon and not attribute):
        raise UsageError(f"{name!r}: write MODULE:NAME, such as orders:app")
    here = str(Path.cwd())
    if module_name.endswith(".py"):
        path = Path(module_name).resolve()
        if not path.exists():
            raise CommandError(f"no file {path}")
        here, module_name = str(path.parent), path.stem
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name.partition(".")[0] and error.name != module_name:
            raise  # an import of the module itself fails
        raise CommandError(
            f"no module {module_name!r} in {here} or among the installed packages"
        ) from None
    found = getattr(module, attribute or "app", None)
    if not isinstance(found, App):
        apps = [each for each, value in vars(module).items() if isinstance(value, App)]
        hint = f"; there is {', '.join(apps)}" if apps else ""
        raise CommandError(f"{module_name} has no App named {attribute or 'app'!r}{hint}")
    return found
