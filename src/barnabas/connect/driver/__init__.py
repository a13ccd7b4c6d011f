"""Spark drivers and mirrors: processes of their own, so that none can take the service with it.

The service and a driver send each other JSON, one object in a line.

driver_process     the process, as the service has it
__main__           the process itself: Spark, and the loop
lease              until when it may run queries
hosted_connectors  the connectors that run in it
warm_up            a first query, so that those that matter start fast
mirror             a process without Spark, which runs a mirror
"""
