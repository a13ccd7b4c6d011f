"""The mutations, by part of the system; each file has a tuple of them."""
