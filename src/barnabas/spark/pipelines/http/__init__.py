"""HTTP: calls that are tried again, requests made of rows, and a listener for webhooks.

http_calls     requests on one connection, tried again with growing pauses
row_requests   the requests of a batch, with keys that are the same when it comes again
refused_rows   what was refused, as dead letters
hook_listener  a server that answers once what it was sent is in a topic
"""
