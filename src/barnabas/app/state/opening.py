"""A reader of a handler's state: that of the running application, or one for the moment."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from barnabas.app.clock import SystemClock
from barnabas.app.handler import Handler
from barnabas.app.ports import Connections
from barnabas.app.state.reader import StateReader
from barnabas.errors import InvalidArgument, StateLost, UnknownTopic

_PATIENCE_S = 60.0


@asynccontextmanager
async def opened_reader(connections: Connections, handler: Handler) -> AsyncIterator[StateReader]:
    """In a process that does not run the application. Raises `StateLost` without a changelog."""
    assert handler.state is not None
    names = handler.changelog_names
    changelog = connections.changelog(names, patience_s=_PATIENCE_S)
    try:
        yield StateReader(changelog, handler.state, SystemClock())
    except UnknownTopic as error:
        raise StateLost(
            f"handler {handler.name}: there is no changelog {names.topic}; it is created when the "
            "application starts"
        ) from error
    finally:
        await changelog.close()


def stateful(handlers: Iterable[Handler], name: str) -> Handler:
    """The handler of this name, which has a state. Raises `InvalidArgument`."""
    known = {each.name: each for each in handlers if each.state is not None}
    if name not in known:
        which = f"there are: {', '.join(known)}" if known else "no handler has one"
        raise InvalidArgument(f"no handler {name!r} with a State; {which}")
    return known[name]
