"""Commands that describe and change what a cluster keeps.

topics         `topics`: create, list, describe, alter, delete
groups         `groups`: list, describe, lag, reset, delete
group_output   how groups of each type are printed
group_lag      how far groups are behind
group_reset    the options of `groups reset-offsets`, as a plan
configs        `configs`: settings of topics, brokers and groups
setting_names  names of settings, which may be mistyped
transactions   `transactions`: list, describe, abort, fence
acls           `acls`: list, add, remove, explain
acl_output     how access rules are printed
"""
