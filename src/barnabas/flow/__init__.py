"""What flows from where to where: pipelines as a graph, and what they report of themselves.

The processes that run pipelines and those that show them share it. Nothing here needs Spark.

graph     pipelines and the places that they read and write
lag_time  how far a pipeline is behind, in seconds
layers    where a drawing has the nodes
reports   the topic that running pipelines report to
requests  the topic by which they are asked to stop or restart
"""
