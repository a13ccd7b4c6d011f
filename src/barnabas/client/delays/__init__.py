"""Records for later: kept in a topic, and moved to their own when they are due.

    put(delay=) -> TOPIC.delayed, the partition of the level -> ... a lower level ... -> TOPIC

A log can't be sorted. So each partition of TOPIC.delayed is a level, in which all records wait for
the same time, counted from when they were written: 1 s, 2 s, 5 s, ... 1 d, ... A record goes to the
longest level that is not longer than what is left of its delay. There it is taken in the order of
the log, and written to a lower level with what is left then, until nothing is. So nobody has to
read further than the first record of each level, however many wait, and for however different
times. A delay that is as long as a level, such as 10 minutes, is moved once.

Moving is reading, writing and committing in one transaction, by the members of a consumer group:
see `mover`. Imports go down this list only.

delayed_core      puts and moves, for an application
movers            which topics have records for later
mover             moves what is due, as a member of the group
record_moves      writes each due record where it goes
delayed_sends     puts records for later
delayed_rights    what senders and movers have to be allowed
delayed_topic     how TOPIC.delayed is named and made
waiting_records   the first records of each level, as a mover has them
delayed_record    when a record is due, in its headers
levels            how long each level lets records wait
"""
