"""The command `barnabas`, also as `python -m barnabas`."""

from barnabas.cli.base.interrupt import quit_on_interrupt


def main() -> None:
    """Be ready for Ctrl-C before everything else: importing the rest takes a while."""
    quit_on_interrupt()
    from barnabas.cli.app import main as run

    run()


if __name__ == "__main__":
    main()
