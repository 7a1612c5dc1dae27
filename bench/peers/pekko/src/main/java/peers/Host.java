package peers;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.cluster.sharding.typed.HashCodeMessageExtractor;
import org.apache.pekko.cluster.sharding.typed.javadsl.ClusterSharding;
import org.apache.pekko.cluster.sharding.typed.javadsl.Entity;
import org.apache.pekko.cluster.sharding.typed.javadsl.EntityRef;

/** A process that hosts entities, or asks and tells those of others, as the lines of its standard input say. */
final class Host {
    private static final int SHARDS = 30;
    private static final int PAYLOAD = 100;
    private static final int ENTITIES = 64; // that are told and asked
    private static final int LOADED = 100; // that are asked while a process is killed or stopped
    private static final int BEHIND = 3; // messages for each when its process is stopped
    private static final int BATCH = 512; // a sender that never waits loses messages: queues are bounded
    private static final int BATCHES = 64;
    private static final Duration ASK = Duration.ofSeconds(1);
    private static final Duration LONG_ASK = Duration.ofSeconds(10);
    private static final long PACE_MS = 10;
    private static final long JUMP_NANOS = 1_000_000_000L; // a clock that jumps that far was stopped

    private final ActorSystem<Void> system;
    private final Sink sink;
    private final ClusterSharding sharding;

    Host(boolean hosts, String addr, int members, List<String> seeds) throws InterruptedException {
        system = Nodes.start(addr, hosts ? Nodes.HOST_ROLE : "caller", members, seeds, "");
        Nodes.await(system, members);
        sink = new Sink(addr);
        sharding = ClusterSharding.get(system);
        sharding.init(Entity.of(Sink.TYPE, sink::entity).withRole(Nodes.HOST_ROLE)
            .withMessageExtractor(new HashCodeMessageExtractor<>(SHARDS)));
    }

    /** Does what each line says, until there are no more. */
    void serve() throws Exception {
        System.out.println("up");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "tell" -> tell(Long.parseLong(words[1]), Long.parseLong(words[2]));
                case "ask" -> ask(Integer.parseInt(words[1]), Long.parseLong(words[2]), Long.parseLong(words[3]));
                case "load" -> load(Long.parseLong(words[1]), words[2]);
                case "killed" -> back(Long.parseLong(words[1]));
                case "mark" -> mark();
                case "freeze" -> freeze(Long.parseLong(words[1]));
                default -> throw new IllegalArgumentException(line);
            }
        }
    }

    private EntityRef<Message> entity(int i) {
        return sharding.entityRefFor(Sink.TYPE, "entity-" + i);
    }

    private List<EntityRef<Message>> entities() {
        List<EntityRef<Message>> all = new ArrayList<>();
        for (int i = 0; i < ENTITIES; i++) {
            all.add(entity(i));
            query(all.get(i), i).toCompletableFuture().join();
        }
        return all;
    }

    private static CompletionStage<Message.Answer> query(EntityRef<Message> to, long n) {
        return to.ask(r -> new Message.Query(n, r), LONG_ASK);
    }

    private static long counted(List<EntityRef<Message>> all) {
        long sum = 0;
        for (EntityRef<Message> e : all) {
            sum += e.<Message.Answer>ask(Message.Count::new, LONG_ASK).toCompletableFuture().join().n();
        }
        return sum;
    }

    private void tell(long ms, long warmMs) {
        List<EntityRef<Message>> all = entities();
        for (long part : new long[] {warmMs, ms}) {
            long before = counted(all);
            long start = System.nanoTime();
            long sent = 0;
            ArrayDeque<CompletableFuture<Message.Answer>> under = new ArrayDeque<>();
            while (System.nanoTime() - start < part * 1_000_000) {
                for (int i = 0; i < BATCH; i++) {
                    all.get((int) (sent++ % ENTITIES)).tell(new Message.Note(new byte[PAYLOAD]));
                }
                under.add(query(all.get(0), sent).toCompletableFuture());
                if (under.size() >= BATCHES) {
                    under.poll().join();
                }
            }
            long got = counted(all) - before;
            double seconds = (System.nanoTime() - start) / 1e9;
            if (part == ms) {
                System.out.printf(Locale.ROOT, "case=tell-1-sender ops_per_s=%d lost=%d%n", (long) (got / seconds),
                    sent - got);
            }
        }
        System.out.println("told");
    }

    private void ask(int callers, long ms, long warmMs) throws Exception {
        List<EntityRef<Message>> all = entities();
        Load.measure("ask-" + callers + "-callers", callers, ms, warmMs, system.executionContext(),
            (c, i) -> query(all.get((c + i) % ENTITIES), i));
        System.out.println("asked");
    }

    private String victim;
    private final Map<Integer, Long> first = new ConcurrentHashMap<>(); // when an entity answered elsewhere
    private final CountDownLatch elsewhere = new CountDownLatch(LOADED);
    private final AtomicLong failed = new AtomicLong();

    /** Finds entities that live at the victim, and asks them for some time, and goes on with it. */
    private void load(long warmMs, String victim) throws InterruptedException {
        this.victim = victim;
        List<Integer> there = new ArrayList<>();
        for (int i = 0; there.size() < LOADED; i++) {
            if (query(entity(i), i).toCompletableFuture().join().at().equals(victim)) {
                there.add(i);
            }
        }
        for (int i : there) {
            system.scheduler().scheduleAtFixedRate(Duration.ofMillis(i % PACE_MS), Duration.ofMillis(PACE_MS),
                () -> once(i), system.executionContext());
        }
        Thread.sleep(warmMs);
        failed.set(0);
        System.out.println("loaded");
    }

    private void once(int i) {
        entity(i).<Message.Answer>ask(r -> new Message.Query(i, r), ASK).whenComplete((a, error) -> {
            if (error != null) {
                failed.incrementAndGet();
            } else if (!a.at().equals(victim) && first.putIfAbsent(i, System.currentTimeMillis()) == null) {
                elsewhere.countDown();
            }
        });
    }

    private void back(long killedMs) throws InterruptedException {
        elsewhere.await();
        long[] took = first.values().stream().mapToLong(t -> t - killedMs).sorted().toArray();
        System.out.printf(Locale.ROOT, "case=failover entities=%d median_ms=%d last_ms=%d failed=%d%nback%n",
            took.length, took[(took.length - 1) / 2], took[took.length - 1], failed.get());
    }

    /** Has every entity answer, wherever it is. */
    private void mark() {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < LOADED; i++) {
            all.add(markOnce(entity(i)));
        }
        CompletableFuture.allOf(all.toArray(new CompletableFuture[0])).join();
        System.out.println("marked");
    }

    private CompletableFuture<Void> markOnce(EntityRef<Message> to) {
        return to.<Message.Answer>ask(Message.Mark::new, ASK).<CompletableFuture<Void>>handle((a, error) ->
            error == null ? CompletableFuture.completedFuture(null) : markOnce(to))
            .thenCompose(f -> f).toCompletableFuture();
    }

    /** Closes the gate, waits until the process was stopped and continued, and says what its entities did then. It
     * watches the process for so long, or until the system has ended. */
    private void freeze(long watchedMs) throws InterruptedException {
        sink.gate.writeLock().lock();
        List<String> own = List.copyOf(sink.living);
        for (String id : own) {
            for (int i = 0; i < BEHIND; i++) {
                sharding.entityRefFor(Sink.TYPE, id).tell(new Message.Mark(null));
            }
        }
        System.out.println("frozen");
        for (long last = System.nanoTime(), now = last; now - last < JUMP_NANOS; now = System.nanoTime()) {
            last = now;
            Thread.sleep(PACE_MS);
        }
        sink.woken = true;
        sink.gate.writeLock().unlock();
        CompletableFuture<?> ended = system.getWhenTerminated().toCompletableFuture();
        long woke = System.nanoTime();
        long endedMs = 0;
        try {
            ended.get(watchedMs, java.util.concurrent.TimeUnit.MILLISECONDS);
            endedMs = (System.nanoTime() - woke) / 1_000_000;
        } catch (java.util.concurrent.TimeoutException | java.util.concurrent.ExecutionException e) {
            endedMs = 0; // it goes on
        }
        long twice = own.stream().filter(sink.living::contains).count();
        System.out.printf(Locale.ROOT,
            "case=thaw entities=%d deliveries_after_sigcont=%d effects_after_sigcont=%d live_twice=%d%s%nthawed%n",
            own.size(), sink.delivered.get(), sink.effects.get(), twice, endedMs > 0 ? " ended_ms=" + endedMs : "");
    }
}
