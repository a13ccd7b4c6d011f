"""A log of requests: all of some clients, and those that are slow, with where the time went.

request_log       the way of requests while something is logged
client_filter     which clients are meant
logged_request    one request: its times, and the line that tells them
request_text      what a request asks for and which errors it got, as text
slow_rate         a limit of lines about slow requests
"""
