"""A command that ends with the server: the console of `--console`, the registry of `--registry`."""

import runpy

from barnabas.cli.server.lifeline import end_with_parent

if __name__ == "__main__":
    end_with_parent()
    runpy.run_module("barnabas", run_name="__main__", alter_sys=True)
