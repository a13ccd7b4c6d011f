"""The bit fields of authorized operations in answers; `RequestAccess.operations` makes them."""

NOT_ASKED = -(2**31)
"""The client did not ask for them."""
