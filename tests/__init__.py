"""The test suite; it mirrors `src`, and `support` holds what several packages of it share."""
