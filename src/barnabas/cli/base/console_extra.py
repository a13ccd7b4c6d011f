"""What `console` and `server --console` need beyond the base installation."""

from barnabas.cli.base.command import CommandError


def check_console_installed() -> None:
    """Raises `CommandError` where the extra is missing."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise CommandError(
            f"the console needs {error.name}: pip install 'barnabas[console]'"
        ) from error
