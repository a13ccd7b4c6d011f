"""Quotas: which limit holds for a client, and for how long a client that exceeds it has to wait.

quota_key       the limits there are, and the values that each may have
precedence      which limit holds for a user and a client id
rate            a rate over a sliding window, and the throttle time of one that is too high
token_bucket    a rate that allows bursts, and refuses beyond them
"""
