package peers;

import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.cluster.ddata.GCounterKey;
import org.apache.pekko.cluster.ddata.typed.javadsl.Replicator;
import org.apache.pekko.cluster.sharding.typed.HashCodeMessageExtractor;
import org.apache.pekko.cluster.sharding.typed.javadsl.ClusterSharding;
import org.apache.pekko.cluster.sharding.typed.javadsl.Entity;

/** What keys and entities take on the heap of one node. */
final class Memory {
    private static final int SHARDS = 100;
    private static final int AHEAD = 1000;

    private Memory() {}

    private static ActorSystem<Void> one() throws Exception {
        return Nodes.cluster(Nodes.free(1), List.of("pekko.cluster.sharding.passivation.strategy = none")).get(0);
    }

    private static long used() throws InterruptedException {
        for (int i = 0; i < 4; i++) {
            System.gc();
            Thread.sleep(100);
        }
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    /** Counters that one node incremented once. */
    static void keys(int n) throws Exception {
        Data d = new Data(one());
        join(n, "warm", d, 1000);
        long before = used();
        join(n, "counter", d, n);
        report("keys", "bytes_per_key", used() - before, n);
    }

    private static void join(int n, String name, Data d, int keys) {
        CompletionStage<?> last = null;
        for (int i = 0; i < keys; i++) {
            CompletionStage<?> answer = d.increment(GCounterKey.create(name + "-" + i), Replicator.writeLocal());
            if (i % AHEAD == 0 && last != null) {
                last.toCompletableFuture().join();
            }
            last = answer;
        }
        last.toCompletableFuture().join();
    }

    /** Entities that got one message each. */
    static void entities(int n) throws Exception {
        ActorSystem<Void> system = one();
        Sink sink = new Sink("here");
        ClusterSharding sharding = ClusterSharding.get(system);
        sharding.init(Entity.of(Sink.TYPE, sink::entity)
            .withMessageExtractor(new HashCodeMessageExtractor<>(SHARDS)));
        start(sharding, sink, "warm-", 10 * SHARDS);
        sink.living.clear(); // the measuring itself is not measured
        long before = used();
        start(sharding, sink, "entity-", n);
        sink.living.clear();
        report("entities", "bytes_per_idle_entity", used() - before, n);
    }

    private static void start(ClusterSharding sharding, Sink sink, String name, int n) throws InterruptedException {
        long want = sink.started.get() + n;
        for (int i = 0; i < n; i++) {
            sharding.entityRefFor(Sink.TYPE, name + (1_000_000_000 + i)).tell(new Message.Note(new byte[100]));
            while (sink.started.get() < want - n + i - AHEAD) {
                Thread.sleep(1);
            }
        }
        while (sink.started.get() < want) {
            Thread.sleep(1);
        }
    }

    private static void report(String name, String figure, long bytes, int n) {
        System.out.printf(Locale.ROOT, "case=%s %s=%.0f%ndone%n", name, figure, (double) bytes / n);
    }
}
