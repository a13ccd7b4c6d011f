// What Kafka's own client of mirrors reads in the target of a flow; a line for each answer.
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.connect.mirror.MirrorClient;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;

class LookAtMirror {
    public static void main(String[] arguments) throws Exception {
        String servers = arguments[0], source = arguments[1], group = arguments[2];
        Map<String, Object> properties = Map.of("bootstrap.servers", servers);
        try (MirrorClient client = new MirrorClient(properties)) {
            System.out.println("heartbeats " + new TreeSet<>(client.heartbeatTopics()));
            System.out.println("checkpoints " + new TreeSet<>(client.checkpointTopics()));
            System.out.println("remote " + new TreeSet<>(client.remoteTopics(source)));
        }
        System.out.println("upstream " + new TreeSet<>(RemoteClusterUtils.upstreamClusters(properties)));
        System.out.println("hops " + RemoteClusterUtils.replicationHops(properties, source));
        Map<String, Long> offsets = new TreeMap<>();
        RemoteClusterUtils.translateOffsets(properties, source, group, Duration.ofSeconds(60))
            .forEach((partition, offset) -> offsets.put(partition.toString(), offset.offset()));
        System.out.println("offsets " + offsets);
    }
}
