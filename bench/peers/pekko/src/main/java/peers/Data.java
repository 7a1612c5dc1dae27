package peers;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.apache.pekko.cluster.ddata.GCounter;
import org.apache.pekko.cluster.ddata.GCounterKey;
import org.apache.pekko.cluster.ddata.Key;
import org.apache.pekko.cluster.ddata.ORSet;
import org.apache.pekko.cluster.ddata.ORSetKey;
import org.apache.pekko.cluster.ddata.ReplicatedData;
import org.apache.pekko.cluster.ddata.SelfUniqueAddress;
import org.apache.pekko.cluster.ddata.typed.javadsl.DistributedData;
import org.apache.pekko.cluster.ddata.typed.javadsl.Replicator;

/** Updates and reads at majority, of three nodes in one process. */
final class Data {
    private static final Duration LIMIT = Duration.ofSeconds(10);

    private final ActorSystem<Void> system;
    private final ActorRef<Replicator.Command> replicator;
    private final SelfUniqueAddress self;

    Data(ActorSystem<Void> system) {
        this.system = system;
        replicator = DistributedData.get(system).replicator();
        self = DistributedData.get(system).selfUniqueAddress();
    }

    static void run(long ms, long warmMs) throws Exception {
        List<ActorSystem<Void>> systems = Nodes.cluster(Nodes.free(3), List.of("", "", ""));
        List<Data> all = systems.stream().map(Data::new).toList();
        Data d = all.get(0);
        Executor executor = d.system.executionContext();
        Key<GCounter> counter = GCounterKey.create("counter");
        for (int callers : new int[] {1, 64}) {
            Key<ORSet<String>> set = ORSetKey.create("set-" + callers);
            String of = "-" + callers + "-callers";
            long begun = System.nanoTime(); // elements of the two passes differ
            Load.measure("add" + of, callers, ms, warmMs, executor, (c, i) -> {
                String element = callers + "-" + c + "-" + i + "-" + (System.nanoTime() - begun);
                return d.update(set, ORSet.<String>create(), majority(), s -> s.add(d.self, element));
            });
            Load.measure("increment" + of, callers, ms, warmMs, executor, (c, i) -> d.increment(counter, majority()));
            Load.measure("read" + of, callers, ms, warmMs, executor, (c, i) -> d.read(counter));
        }
        System.out.println("done");
    }

    private static Replicator.WriteConsistency majority() {
        return new Replicator.WriteMajority(LIMIT);
    }

    CompletionStage<?> increment(Key<GCounter> key, Replicator.WriteConsistency w) {
        return update(key, GCounter.empty(), w, g -> g.increment(self, 1));
    }

    private <T extends ReplicatedData> CompletionStage<?> update(Key<T> key, T empty, Replicator.WriteConsistency w,
        java.util.function.Function<T, T> modify) {
        CompletionStage<Replicator.UpdateResponse<T>> answer = AskPattern.ask(replicator,
            (ActorRef<Replicator.UpdateResponse<T>> to) -> new Replicator.Update<>(key, empty, w, to, modify),
            LIMIT.multipliedBy(2), system.scheduler());
        return answer.thenApply(r -> {
            if (!(r instanceof Replicator.UpdateSuccess)) {
                throw new IllegalStateException("update: " + r);
            }
            return r;
        });
    }

    private CompletionStage<?> read(Key<GCounter> key) {
        CompletionStage<Replicator.GetResponse<GCounter>> answer = AskPattern.ask(replicator,
            (ActorRef<Replicator.GetResponse<GCounter>> to) ->
                new Replicator.Get<>(key, new Replicator.ReadMajority(LIMIT), to),
            LIMIT.multipliedBy(2), system.scheduler());
        return answer.thenApply(r -> {
            if (!(r instanceof Replicator.GetSuccess)) {
                throw new IllegalStateException("get: " + r);
            }
            return r;
        });
    }
}
