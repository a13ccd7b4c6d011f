"""Commands that describe and change what a cluster keeps.

topics         `topics`: create, list, describe, alter, delete
groups         `groups`: list, describe, reset, delete
group_reset    new committed offsets of a group: planned, then applied
configs        `configs`: settings of topics and brokers
setting_names  names of settings, which may be mistyped
transactions   `transactions`: list, describe, abort, fence
"""
