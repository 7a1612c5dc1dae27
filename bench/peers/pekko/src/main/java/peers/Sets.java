package peers;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.apache.pekko.actor.Address;
import org.apache.pekko.cluster.UniqueAddress;
import org.apache.pekko.cluster.ddata.ORSet;

/** Adds to a set of n elements, and merges of deltas of one element, without a cluster. */
final class Sets {
    private static final int BATCH = 1024;

    private final UniqueAddress here = new UniqueAddress(new Address("pekko", "peers", "127.0.0.1", 1), 1L);
    private final UniqueAddress there = new UniqueAddress(new Address("pekko", "peers", "127.0.0.1", 2), 2L);
    private final Random random = new Random(1);
    private final int n;
    private ORSet<String> set = ORSet.<String>create();
    private long addNanos, adds, mergeNanos, merges;

    private Sets(int n) {
        this.n = n;
        List<String> all = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            all.add(element(i));
        }
        Collections.shuffle(all, random);
        for (String e : all) {
            set = set.add(here, e);
        }
        set = set.resetDelta();
    }

    private static String element(int i) {
        return String.format(Locale.ROOT, "element-%08d", i);
    }

    static void run(int n, long ms, long warmMs) {
        Sets s = new Sets(n);
        s.loop(warmMs);
        s.addNanos = s.adds = s.mergeNanos = s.merges = 0;
        s.loop(ms);
        System.out.printf(Locale.ROOT, "case=orset-add-%d ns_per_op=%.2f%ncase=orset-merge-%d ns_per_op=%.2f%ndone%n",
            n, (double) s.addNanos / s.adds, n, (double) s.mergeNanos / s.merges);
    }

    /** Each batch ends with the set as it was: the values do not change, and the one before is kept. */
    private void loop(long ms) {
        long end = System.nanoTime() + ms * 1_000_000;
        do {
            List<String> es = new ArrayList<>();
            for (int i = 0; i < BATCH; i++) {
                es.add(element(random.nextInt(n)) + "x");
            }
            ORSet<String> whole = set;
            ORSet<String> a = whole;
            long begun = System.nanoTime();
            for (String e : es) {
                a = a.add(here, e).resetDelta();
            }
            addNanos += System.nanoTime() - begun;
            adds += BATCH;
            List<ORSet.DeltaOp> deltas = new ArrayList<>();
            ORSet<String> other = whole;
            for (String e : es) {
                other = other.add(there, e);
                deltas.add(other.delta().get());
                other = other.resetDelta();
            }
            ORSet<String> m = whole;
            begun = System.nanoTime();
            int merged = 0;
            do {
                m = m.mergeDelta(deltas.get(merged++));
            } while (merged < BATCH && System.nanoTime() < end); // one takes the longer, the larger the set is
            mergeNanos += System.nanoTime() - begun;
            merges += merged;
            if (m.size() <= n || m.size() > a.size()) {
                throw new IllegalStateException(m.size() + " elements were merged, " + a.size() + " added");
            }
        } while (System.nanoTime() < end);
    }
}
