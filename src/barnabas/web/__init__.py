"""A small HTTP/1.1 server, for metrics, probes and REST APIs.

messages  requests, responses, and errors that are answers
server    bounded requests in, responses out
open_connections  who has to go when there are too many
head      the first lines of a request
page_guard requests of web pages that are refused
loopback  names and addresses by which a machine reaches itself
known_instances  URLs that an instance of a service may forward requests to
no_redirects  requests with secrets, which are not redirected
pages     a few fixed paths that are read, as `/metrics`
"""
