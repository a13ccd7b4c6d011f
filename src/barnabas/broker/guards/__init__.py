"""What each API requires of its sender, and the answer to those who lack it.

A guard sees a request before its handler. It lets it pass, refuses it, or lets a part of it pass
and adds the refusals to the response. Without an authorizer there are no guards.

guard             the parts of a guard, and a route with one
table             the guard of every API
topics            records and offsets
groups            groups and committed offsets
transactions      transactions
topic_admin       creating, changing and deleting topics
configs           settings
cluster           the cluster, its rules and users
produce_in_place  the short cut of Produce
"""
