"""Schedules of an application: functions that put a record into a topic at certain times.

    @app.schedule("0 6 * * *", produces="reports", group="reporting", time_zone="Europe/Berlin")
    def daily(tick: datetime) -> Report: ...

`ticks` says when, by the `wall_clock`, `schedule` what, and `scheduler` does it: once, whichever
workers die.
"""
