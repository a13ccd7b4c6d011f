"""`barnabas schemas`: files."""
