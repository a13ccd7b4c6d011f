"""The web console: a process of its own on the client, for any Kafka or Barnabas.

options    what it serves: the cluster, the address, what is allowed
server     runs it until it is cancelled
slow_requests  connections whose request does not arrive
app        routes, pages and the middleware around them
endpoint   an API call: its parameters, checked and documented by one declaration
openapi    `/api/openapi.json` from these declarations
answers    JSON, and errors that say what to do
access/    who may ask: hosts, headers, tokens, sign-in, the audit topic
watch/     what happens in the cluster: samples, history, events, health
messages/  records: read, shown, searched, masked
schemas/   records decoded by the schemas of a registry
api/       the calls, by noun
static/    the page: ES modules without a build step; vendor/ has other projects' with licences
"""
