package peers;

import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;

/** Callers that do an operation again and again, each after the answer of the one before. No caller blocks a thread. */
final class Load {
    /** An operation of a caller. */
    interface Op {
        CompletionStage<?> begin(int caller, int i);
    }

    private final long[][] times;
    private final int[] counts;
    private final CountDownLatch left;
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final Op op;
    private final Executor executor;
    private long end;

    private Load(int callers, Executor executor, Op op) {
        times = new long[callers][1024];
        counts = new int[callers];
        left = new CountDownLatch(callers);
        this.op = op;
        this.executor = executor;
    }

    /** Runs the callers unmeasured, then measured, and prints what it found. */
    static void measure(String name, int callers, long ms, long warmMs, Executor executor, Op op) throws Exception {
        new Load(callers, executor, op).run(warmMs);
        Load l = new Load(callers, executor, op);
        double seconds = l.run(ms);
        long[] all = l.sorted();
        System.out.printf(Locale.ROOT, "case=%s ops_per_s=%d p50_us=%.2f p99_us=%.2f%n", name,
            (long) (all.length / seconds), at(all, 0.5), at(all, 0.99));
    }

    private double run(long ms) throws Exception {
        long start = System.nanoTime();
        end = start + ms * 1_000_000;
        for (int c = 0; c < times.length; c++) {
            int caller = c;
            executor.execute(() -> next(caller, 0));
        }
        left.await();
        if (failure.get() != null) {
            throw new Exception(failure.get());
        }
        return (System.nanoTime() - start) / 1e9;
    }

    private void next(int caller, int i) {
        long begun = System.nanoTime();
        if (begun >= end) {
            left.countDown();
            return;
        }
        CompletionStage<?> answer;
        try {
            answer = op.begin(caller, i);
        } catch (RuntimeException e) {
            answer = CompletableFuture.failedFuture(e);
        }
        answer.whenCompleteAsync((ok, error) -> {
            if (error != null) {
                failure.compareAndSet(null, error);
                left.countDown();
                return;
            }
            if (times[caller].length == i) {
                times[caller] = Arrays.copyOf(times[caller], 2 * i);
            }
            times[caller][i] = System.nanoTime() - begun;
            counts[caller] = i + 1;
            next(caller, i + 1);
        }, executor);
    }

    private long[] sorted() {
        long[] all = new long[Arrays.stream(counts).sum()];
        int n = 0;
        for (int c = 0; c < times.length; c++) {
            System.arraycopy(times[c], 0, all, n, counts[c]);
            n += counts[c];
        }
        Arrays.sort(all);
        return all;
    }

    private static double at(long[] sorted, double part) {
        return sorted.length == 0 ? 0 : sorted[(int) (part * (sorted.length - 1))] / 1e3;
    }
}
