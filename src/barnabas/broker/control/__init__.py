"""This node and the controller: being one, reaching it, and following what it decides.

active_controller       the controller, while this node leads the metadata log
controller_factory      the controller as the settings want it
controller_apis         how each API of the controller is decided and refused
controller_calls        reaches the controller, wherever it is
broker_lifecycle        registration, heartbeats, controlled shutdown
disk_trust              whether the last shutdown left everything on the disk
metadata_follower       applies committed metadata to this node
cluster_view            the brokers and their addresses
departures              brokers that have just gone
topic_metadata_cache    what Metadata answers, kept encoded
topic_creation, creation_rate   topics created on demand
producer_ids            blocks of producer ids
lost_replicas           reports replicas that lack records or can't be used
initial_users           users that a new cluster begins with
node_features           asks nodes which levels of features they support
first_features          levels of features that a new cluster begins with
replica_logs            asks replicas for their log ends before an unclean election
"""
