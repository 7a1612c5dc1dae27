package peers;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.PostStop;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.sharding.typed.javadsl.EntityContext;
import org.apache.pekko.cluster.sharding.typed.javadsl.EntityTypeKey;

/** The measured entities of a process, and what they share. */
final class Sink {
    static final EntityTypeKey<Message> TYPE = EntityTypeKey.create(Message.class, "Sink");

    final ReentrantReadWriteLock gate = new ReentrantReadWriteLock();
    final Set<String> living = ConcurrentHashMap.newKeySet();
    final AtomicLong started = new AtomicLong();
    final AtomicLong delivered = new AtomicLong(); // after the process was continued
    final AtomicLong effects = new AtomicLong();
    volatile boolean woken;
    private final String addr;

    Sink(String addr) {
        this.addr = addr;
    }

    Behavior<Message> entity(EntityContext<Message> context) {
        return Behaviors.setup(c -> {
            String id = context.getEntityId();
            living.add(id);
            started.incrementAndGet();
            long[] got = {0};
            return Behaviors.receive(Message.class)
                .onMessage(Message.Note.class, m -> {
                    got[0]++;
                    return Behaviors.same();
                })
                .onMessage(Message.Query.class, m -> {
                    m.to().tell(new Message.Answer(m.n(), addr));
                    return Behaviors.same();
                })
                .onMessage(Message.Count.class, m -> {
                    m.to().tell(new Message.Answer(got[0], addr));
                    return Behaviors.same();
                })
                .onMessage(Message.Mark.class, m -> {
                    pass();
                    if (m.to() != null) {
                        m.to().tell(new Message.Answer(0, addr));
                    }
                    return Behaviors.same();
                })
                .onSignal(PostStop.class, s -> {
                    living.remove(id);
                    return Behaviors.same();
                })
                .build();
        });
    }

    /** A handler with an effect behind the gate. */
    private void pass() {
        if (woken) {
            delivered.incrementAndGet();
        }
        gate.readLock().lock();
        try {
            if (woken) {
                effects.incrementAndGet();
            }
        } finally {
            gate.readLock().unlock();
        }
    }
}
