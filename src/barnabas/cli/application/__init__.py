"""`barnabas app`: run and describe applications.

commands  the family
loading   MODULE:NAME to an application
docs      an AsyncAPI document and a page
rights    the access rules that it needs, printed or checked
state     the state of its handlers: read, or built again
run       one process, or several that are watched and reloaded
workers   the processes
"""
