import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.SecurityUtils;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/** Answers the questions that cases.py writes; see there for the format and how to run it. */
public class AskStandardAuthorizer {
    record Client(KafkaPrincipal principal, InetAddress clientAddress)
            implements AuthorizableRequestContext {
        public String listenerName() { return "PLAINTEXT"; }
        public SecurityProtocol securityProtocol() { return SecurityProtocol.PLAINTEXT; }
        public int requestType() { return 0; }
        public int requestVersion() { return 0; }
        public String clientId() { return ""; }
        public int correlationId() { return 0; }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        StandardAuthorizer authorizer = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] part = line.split(" ");
            switch (part[0]) {
                case "S" -> authorizer = started(part[1], part[2].equals("1"));
                case "R" -> authorizer.addAcl(Uuid.randomUuid(), new StandardAcl(
                    ResourceType.fromCode(Byte.parseByte(part[1])), part[3],
                    PatternType.fromCode(Byte.parseByte(part[2])), part[4], part[5],
                    AclOperation.fromCode(Byte.parseByte(part[6])),
                    AclPermissionType.fromCode(Byte.parseByte(part[7]))));
                case "Q" -> line += " " + said(authorizer.authorize(client(part[1], part[2]),
                    List.of(new Action(AclOperation.fromCode(Byte.parseByte(part[3])),
                        new ResourcePattern(ResourceType.fromCode(Byte.parseByte(part[4])), part[5],
                            PatternType.LITERAL), 1, true, true))).get(0));
                case "B" -> line += " " + said(authorizer.authorizeByResourceType(
                    client(part[1], part[2]), AclOperation.fromCode(Byte.parseByte(part[3])),
                    ResourceType.fromCode(Byte.parseByte(part[4]))));
                default -> { }
            }
            System.out.println(line);
        }
    }

    static StandardAuthorizer started(String superUsers, boolean allowEveryone) throws Exception {
        StandardAuthorizer authorizer = new StandardAuthorizer();
        Map<String, String> configs = new HashMap<>();
        configs.put("node.id", "1");
        configs.put("super.users", superUsers.equals("-") ? "" : superUsers);
        configs.put("allow.everyone.if.no.acl.found", Boolean.toString(allowEveryone));
        authorizer.configure(configs);
        authorizer.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
        authorizer.completeInitialLoad();
        return authorizer;
    }

    static Client client(String principal, String host) throws Exception {
        return new Client(SecurityUtils.parseKafkaPrincipal(principal),
            InetAddress.getByName(host));
    }

    static String said(AuthorizationResult result) {
        return result == AuthorizationResult.ALLOWED ? "+" : "-";
    }
}
