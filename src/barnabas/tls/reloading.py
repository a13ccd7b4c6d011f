"""A context that follows its files: certificates are replaced while the process runs.

Open connections keep theirs; each new connection gets the current one. If new files can't be used,
because only some of them are there yet or they are damaged, the former context stays in use.
"""

import logging
import ssl
from collections.abc import Callable

from barnabas.tls.tls_files import TlsError, TlsFiles

logger = logging.getLogger(__name__)

MakeContext = Callable[[TlsFiles], ssl.SSLContext]


class ReloadingContext:
    """Made once for each listener or client."""

    def __init__(self, files: TlsFiles, make: MakeContext, what: str) -> None:
        """`what` names the user in the log. Raises `TlsError`."""
        self._make = make
        self._what = what
        self._files = files
        self._seen = files.fingerprint()
        self._must_retry = False
        """Whether the last attempt failed for a reason that is not in the files."""
        self._failure = ""
        """Why, as the log has it already."""
        self.current = make(files)

    def refresh(self, files: TlsFiles | None = None) -> bool:
        """Make a new context if a file or (with `files`) a setting has changed.

        Returns whether there is a new one.
        """
        files = files or self._files
        seen = files.fingerprint()
        if seen == self._seen and files == self._files and not self._must_retry:
            return False
        if not self._must_retry:
            self._failure = ""
        self._seen, self._files = seen, files
        self._must_retry = False
        try:
            self.current = self._make(files)
        except (TlsError, OSError) as error:
            self._must_retry = isinstance(error, OSError)  # the disk may be full
            if str(error) != self._failure:
                self._failure = str(error)
                logger.error("%s keeps using its previous certificates: %s", self._what, error)
            return False
        logger.info("%s uses new certificates from now on", self._what)
        return True
