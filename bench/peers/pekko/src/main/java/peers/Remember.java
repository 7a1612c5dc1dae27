package peers;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.cluster.sharding.typed.ClusterShardingSettings;
import org.apache.pekko.cluster.sharding.typed.HashCodeMessageExtractor;
import org.apache.pekko.cluster.sharding.typed.javadsl.ClusterSharding;
import org.apache.pekko.cluster.sharding.typed.javadsl.Entity;

/** Remembered entities on three nodes in one process: their first start, and the restart of all nodes. */
final class Remember {
    private static final long PATIENCE_MS = 300_000;
    private static final int AHEAD = 10_000; // entities that are told before the first of them are waited for

    private final Sink sink = new Sink("here");
    private final List<ActorSystem<Void>> systems;
    private final List<ClusterSharding> shardings = new ArrayList<>();

    private Remember(List<String> addrs, String dir, int shards) throws InterruptedException {
        List<String> more = new ArrayList<>();
        for (int i = 0; i < addrs.size(); i++) {
            more.add("pekko.cluster.sharding.distributed-data.durable.lmdb.dir = \"" + dir + "-" + i + "\"\n"
                + "pekko.cluster.sharding.passivation.strategy = none\n");
        }
        systems = Nodes.cluster(addrs, more);
        for (ActorSystem<Void> s : systems) {
            ClusterSharding sharding = ClusterSharding.get(s);
            sharding.init(Entity.of(Sink.TYPE, sink::entity).withRole(Nodes.HOST_ROLE)
                .withMessageExtractor(new HashCodeMessageExtractor<>(shards))
                .withSettings(ClusterShardingSettings.create(s).withRememberEntities(true)));
            shardings.add(sharding);
        }
    }

    static void run(int entities, int shards, String dir, List<String> addrs) throws Exception {
        Remember r = new Remember(addrs, dir, shards);
        long begun = System.nanoTime();
        for (int i = 0; i < entities; i++) {
            r.shardings.get(i % r.shardings.size())
                .entityRefFor(Sink.TYPE, String.format(Locale.ROOT, "entity-%09d", i))
                .tell(new Message.Note(new byte[0]));
            if (i % AHEAD == AHEAD - 1) {
                r.await(i + 1 - AHEAD / 2);
            }
        }
        r.await(entities);
        double perSecond = entities / ((System.nanoTime() - begun) / 1e9);
        r.end();
        begun = System.nanoTime();
        Remember again = new Remember(addrs, dir, shards);
        double formed = (System.nanoTime() - begun) / 1e9;
        again.await(entities);
        System.out.printf(Locale.ROOT,
            "case=remember/%d-shards starts_per_s=%.0f restart_seconds=%.3f formed_after_seconds=%.3f%ndone%n", shards,
            perSecond, (System.nanoTime() - begun) / 1e9, formed);
    }

    private void await(int entities) throws InterruptedException {
        long end = System.currentTimeMillis() + PATIENCE_MS;
        while (sink.living.size() < entities) {
            if (System.currentTimeMillis() > end) {
                throw new IllegalStateException(sink.living.size() + " of " + entities + " entities were started");
            }
            Thread.sleep(2);
        }
    }

    private void end() throws Exception {
        systems.forEach(ActorSystem::terminate);
        for (ActorSystem<Void> s : systems) {
            s.getWhenTerminated().toCompletableFuture().get();
        }
    }
}
