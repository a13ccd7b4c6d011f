"""Sockets, for clients and for other nodes.

listeners                       addresses to listen on and to advertise
connection, receive_buffer      one client's connection: frames in, answers out
connection_limits, held_memory  bounds on connections and on the memory they hold
foreign_protocol                HTTP or TLS on the Kafka port
request_order                   which requests of a connection may overlap
dispatcher                      from a frame to its handler and back
startup_gate                    who is served before the node is ready
peers, peer_connection          requests to other nodes
node_credentials, cluster_secret   what this node proves itself with
peer_proof, refused_proofs      how nodes prove that they are nodes
peer_authorization              requests that only nodes may send
"""
