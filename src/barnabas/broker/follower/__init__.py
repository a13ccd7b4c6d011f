"""Following leaders: the replica fetchers.

replica_fetchers    one fetcher for each leader
replica_fetcher     fetches from one leader and appends
replica_session     the follower's side of an incremental fetch session
epoch_query         asks a leader where its epochs began
follower_log        what a follower does to its log: append, truncate, start at an offset
"""
