"""Streams from the literature: their events, their queries, and the ways in which Spark runs them.

workload          what a workload is: a topic of JSON events, and queries on them
contenders        the three ways that run a query, and what each costs
comparison        rounds of all queries, and the rows of the table
results           whether a stream has written what a batch computes
nexmark_events    auctions and bids
nexmark_queries   queries on them
ad_events         wide events of advertisements, skewed, and the table of their campaigns
"""
