"""Values of records, as an application's annotations say.

model_values     by type, and models with the schemas of a registry
memory_registry  a registry for tests
"""
