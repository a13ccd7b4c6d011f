import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.metrics.MeasurableStat;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.metrics.stats.Rate;
import org.apache.kafka.common.metrics.stats.TokenBucket;

/** Answers the questions that cases.py writes; see there for the format and how to run it. */
public class AskQuotaMetrics {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        MeasurableStat stat = null;
        MetricConfig config = null;
        double bound = 0;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] part = line.split(" ");
            if (part[0].equals("V")) {
                long now = Long.parseLong(part[1]);
                stat.record(config, Double.parseDouble(part[2]), now);
                double value = stat.measure(config, now);
                long throttle = 0;
                // As QuotaUtils.throttleTime and ControllerMutationQuotaManager.throttleTimeMs.
                if (stat instanceof Rate rate && value > bound)
                    throttle = Math.round((value - bound) / bound * rate.windowSize(config, now));
                else if (stat instanceof TokenBucket && value < 0)
                    throttle = Math.round(-value / bound * 1000);
                line += " " + value + " " + throttle;
            } else {
                bound = Double.parseDouble(part[1]);
                stat = part[0].equals("R") ? new Rate() : new TokenBucket();
                config = new MetricConfig().quota(Quota.upperBound(bound))
                    .samples(Integer.parseInt(part[2]))
                    .timeWindow(Long.parseLong(part[3]), TimeUnit.MILLISECONDS);
            }
            System.out.println(line);
        }
    }
}
