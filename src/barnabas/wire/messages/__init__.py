"""One module per API, generated from the schema table by `make codecs`."""
