"""What the sender of a request may do, on a node with an authorizer.

authorization   the node's rules, following the metadata
request_access  questions of one request
denial_log      the audit log of refused requests
"""
