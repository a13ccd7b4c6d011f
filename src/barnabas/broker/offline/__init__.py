"""Work on a data directory that no server runs on: `barnabas cluster recover --data`.

stored_metadata   the metadata log of a node: reading it, and writing another in its place
sole_survivor     decides how a cluster goes on with one node
surviving_node    what one node has of a cluster, and the cluster rebuilt from it
"""
