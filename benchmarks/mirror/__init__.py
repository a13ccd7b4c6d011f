"""Mirrors between the same two brokers: ours, and Kafka's Mirror Maker 2 if it is there.

processes    a mirror in a process, and what it and all below it have used
measurement  records of a backlog, and single records from produce to consume

Mirror Maker 2 takes part if `BARNABAS_KAFKA_JARS` names a folder with the JAR files of
`org.apache.kafka:connect-mirror`, `connect-runtime` and `connect-mirror-client`, and all that they
need (`mvn dependency:copy-dependencies`). It runs with its defaults, so a record may arrive twice;
ours arrive once.
"""

from benchmarks.mirror.measurement import measure

__all__ = ["measure"]
