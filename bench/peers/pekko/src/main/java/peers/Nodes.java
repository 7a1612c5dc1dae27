package peers;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.Member;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.typed.Cluster;

/** Systems that form a cluster on loopback. */
final class Nodes {
    static final String NAME = "peers";
    static final String HOST_ROLE = "host";

    /** How long a cluster may take to form, in milliseconds. */
    private static final long PATIENCE_MS = 120_000;

    /** Timers that find a crashed node after two or three seconds. With shorter ones a busy machine's nodes give each other up. */
    private static final String TUNED = """
        pekko.cluster.failure-detector {
          heartbeat-interval = 100 ms
          acceptable-heartbeat-pause = 1500 ms
          expected-response-after = 500 ms
        }
        pekko.cluster.gossip-interval = 200 ms
        pekko.cluster.leader-actions-interval = 200 ms
        pekko.cluster.unreachable-nodes-reaper-interval = 100 ms
        pekko.cluster.split-brain-resolver.stable-after = 1 s
        pekko.cluster.split-brain-resolver.down-all-when-unstable = off
        pekko.cluster.sharding.retry-interval = 200 ms
        pekko.cluster.singleton.hand-over-retry-interval = 200 ms
        """;

    private Nodes() {}

    private static Config config(String addr, String role, int members, List<String> seeds, String more) {
        int colon = addr.lastIndexOf(':');
        String urls = seeds.stream().map(s -> "\"pekko://" + NAME + "@" + s + "\"").collect(Collectors.joining(","));
        String text = """
            pekko.actor.provider = cluster
            pekko.loglevel = OFF
            pekko.stdout-loglevel = OFF
            pekko.remote.artery.canonical.hostname = "%s"
            pekko.remote.artery.canonical.port = %s
            pekko.remote.artery.advanced.outbound-message-queue-size = 65536
            pekko.cluster.seed-nodes = [%s]
            pekko.cluster.roles = ["%s"]
            pekko.cluster.min-nr-of-members = %d
            pekko.cluster.downing-provider-class = "org.apache.pekko.cluster.sbr.SplitBrainResolverProvider"
            pekko.cluster.jmx.multi-mbeans-in-same-jvm = on
            pekko.coordinated-shutdown.exit-jvm = off
            pekko.coordinated-shutdown.run-by-jvm-shutdown-hook = off
            pekko.actor.serializers.peers = "peers.Wire"
            pekko.actor.serialization-bindings { "peers.Message" = peers }
            """.formatted(addr.substring(0, colon), addr.substring(colon + 1), urls, role, members);
        if (System.getProperty("peers.preset", "default").equals("tuned")) {
            text += TUNED;
        }
        return ConfigFactory.parseString(more + "\n" + text).withFallback(ConfigFactory.load());
    }

    static ActorSystem<Void> start(String addr, String role, int members, List<String> seeds, String more) {
        return ActorSystem.create(Behaviors.<Void>empty(), NAME, config(addr, role, members, seeds, more));
    }

    /** Waits until the system sees so many members that are Up. */
    static void await(ActorSystem<?> system, int members) throws InterruptedException {
        long end = System.currentTimeMillis() + PATIENCE_MS;
        while (up(system) < members) {
            if (System.currentTimeMillis() > end) {
                throw new IllegalStateException(up(system) + " of " + members + " members are up");
            }
            Thread.sleep(20);
        }
    }

    private static int up(ActorSystem<?> system) {
        int n = 0;
        for (Member m : Cluster.get(system).state().getMembers()) {
            n += m.status().equals(MemberStatus.up()) ? 1 : 0;
        }
        return n;
    }

    /** Starts a system at each address, all in this process. */
    static List<ActorSystem<Void>> cluster(List<String> addrs, List<String> more) throws InterruptedException {
        List<ActorSystem<Void>> all = new ArrayList<>();
        for (int i = 0; i < addrs.size(); i++) {
            all.add(start(addrs.get(i), HOST_ROLE, addrs.size(), addrs, more.get(i)));
        }
        for (ActorSystem<Void> s : all) {
            await(s, addrs.size());
        }
        return all;
    }

    /** Free addresses of loopback. */
    static List<String> free(int n) throws IOException {
        List<ServerSocket> held = new ArrayList<>();
        List<String> addrs = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            ServerSocket s = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
            held.add(s);
            addrs.add("127.0.0.1:" + s.getLocalPort());
        }
        for (ServerSocket s : held) {
            s.close();
        }
        return addrs;
    }
}
