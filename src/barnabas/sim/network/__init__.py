"""The network between simulated machines.

network     who listens where; connecting; connections when a process or a machine dies
stream      one end of a connection: the transport that a protocol is given
links       which bytes pass between which hosts, and how long they take
"""
