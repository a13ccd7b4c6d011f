"""Sockets, for clients and for other nodes.

listeners                       sockets to listen on
connection, receive_buffer      one client's connection: frames in, answers out
connection_count                what a connection asks of those who count it
muting                          times in which a connection is not heard
connection_limits, held_memory  bounds on connections and on the memory they hold
foreign_protocol                HTTP or TLS on a plain port, no TLS on a TLS port
listener_tls                    contexts of a TLS listener, and who its clients are
tls_connection, handshakes      TLS between a socket and a connection
request_order                   which requests of a connection may overlap
dispatcher                      from a frame to its handler and back
request_times, request_errors   what is counted of requests
throttling                      the same for clients with quotas
listener                        what a listener asks of its connections
startup_gate                    who is served before the node is ready
peers, peer_connection          requests to other nodes
node_credentials, cluster_secret   what this node proves itself with
required_secret                 which nodes need a secret before they listen
refused_connections             closed connections: logged at a limited rate
peer_proof, refused_proofs      how nodes prove that they are nodes
unproved_nodes                  what nodes send before that
peer_authorization              requests that only nodes may send
"""
