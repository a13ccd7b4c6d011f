"""One module per API.

A handler takes as much of the node as it names in `Needs`, the request and its context. It returns
the response, something that will hold it, or None for no answer. `broker.routes` is the table.

for_controller          all APIs that the controller decides
fetch_steps, fetch_slices   the steps of a fetch, and fetches of very many partitions
group_shards            what handlers of groups share
transaction_shards      what handlers of transactions share
hanging_transactions    WriteTxnMarkers of an operator
node_only_requests      which requests only nodes may send
authorized_operations   the bit field of operations that was not asked for
"""
