"""Enforcing quotas: what clients use, and for how long those that use too much have to wait.

client_quotas       the limits of each client, and its usage
limited_client      one client's limits and usage
request_quota       one request of a client with limits
throttle_times      how long requests were throttled
connection_rates    how fast addresses connect
replication_quota   how fast replicas that catch up are copied
"""
