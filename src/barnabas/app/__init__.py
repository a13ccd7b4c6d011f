"""Applications: functions that handle records, with retries, dead letters, timers and tests.

app                  `App`: what handlers are given, and how it is run
handler, arguments   one handler, and what its function is called with
dependencies         `Depends`
outgoing, sent_to    what handlers return, as records
values/              models with the schemas of a registry
retry_policy, durations, letters
attempts             one record until it is done: retried, put off, given up
undelivered          results that can't be sent, and why
runners/             read, dispatch, mark as done
timers, clock
state/               `State`: what a handler keeps for each key
schedules/           records that are made at certain times, once for all workers
ports, cluster_connections     what is read from and sent to
running              all of it, from start to stop
asgi                 inside Django and other ASGI services
statistics, serving  metrics, probes
logs                 lines that say which record they are about
testing, memory_topics, memory_jobs      `App.test`
documentation/                 an AsyncAPI document and a page
"""

from barnabas.app.app import App
from barnabas.app.dependencies import Depends
from barnabas.app.outgoing import Outgoing
from barnabas.app.sent_to import SentTo
from barnabas.app.state.state import Expires, State

__all__ = ["App", "Depends", "Expires", "Outgoing", "SentTo", "State"]
