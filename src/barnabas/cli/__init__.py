"""The command `barnabas`. Modules import what is heavy inside their commands: `--help` is fast."""
