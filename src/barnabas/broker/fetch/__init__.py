"""Serving fetches, of consumers and of followers.

fetch_sessions              incremental sessions, by id
fetch_session               one session: what is read, what is new in it, and waiting for more
fetch_entry, replica_entry  one partition of a consumer's or a follower's fetch
aborted_transactions        what a read_committed consumer has to leave out
preferred_read_replica      the follower that is closest to a consumer
"""
