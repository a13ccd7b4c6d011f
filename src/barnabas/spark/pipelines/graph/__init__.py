"""How pipelines depend on each other: what one writes, another one reads.

pipeline_graph  places (topics, tables, files) and pipelines as nodes, what flows as edges
svg             the graph as a picture
mermaid         the graph in Mermaid's language, which many sites draw
"""
