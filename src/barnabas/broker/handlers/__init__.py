"""One module per API. A handler takes the node, the request and its context; it returns the
response, something that will hold it, or None for no answer."""
