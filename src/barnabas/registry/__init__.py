"""A schema registry: Confluent's REST API, with its state in a compacted topic.

model          what a registry knows and decides, without I/O
settings       what an instance is started with
schema_checks  the kinds of schemas, by `barnabas.schemas`
protobuf_files compiled Protobuf files, to text and back
log            the topic, followed by an image
writer         who may write, by the fence of a transactional id
forwarding     requests for the instance that writes
access         users of the cluster, and what they may do with subjects
rest           Confluent's REST API
service        an instance, from start to end
transfer       a registry as lines of JSON, and back
"""
