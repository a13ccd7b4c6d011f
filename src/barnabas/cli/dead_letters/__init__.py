"""`barnabas dead-letters`: of handlers, queues and pipelines alike; `commands` has the family."""
