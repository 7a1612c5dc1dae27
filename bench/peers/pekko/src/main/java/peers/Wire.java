package peers;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.pekko.actor.ExtendedActorSystem;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorRefResolver;
import org.apache.pekko.actor.typed.javadsl.Adapter;
import org.apache.pekko.serialization.SerializerWithStringManifest;

/** Messages as bytes, written by hand: the fastest that the peer can have. */
public final class Wire extends SerializerWithStringManifest {
    private final ActorRefResolver refs;

    public Wire(ExtendedActorSystem system) {
        refs = ActorRefResolver.get(Adapter.toTyped(system));
    }

    @Override
    public int identifier() {
        return 710_001;
    }

    @Override
    public String manifest(Object o) {
        return o instanceof Message.Note ? "n"
            : o instanceof Message.Query ? "q"
            : o instanceof Message.Count ? "c"
            : o instanceof Message.Mark ? "m" : "a";
    }

    @Override
    public byte[] toBinary(Object o) {
        if (o instanceof Message.Note m) {
            return m.body();
        } else if (o instanceof Message.Query m) {
            return with(m.n(), ref(m.to()));
        } else if (o instanceof Message.Count m) {
            return with(0, ref(m.to()));
        } else if (o instanceof Message.Mark m) {
            return with(0, ref(m.to()));
        } else if (o instanceof Message.Answer m) {
            return with(m.n(), m.at());
        }
        throw new IllegalArgumentException("no message: " + o);
    }

    @Override
    public Object fromBinary(byte[] bytes, String manifest) {
        if (manifest.equals("n")) {
            return new Message.Note(bytes);
        }
        ByteBuffer b = ByteBuffer.wrap(bytes);
        long n = b.getLong();
        String text = new String(bytes, Long.BYTES, bytes.length - Long.BYTES, StandardCharsets.UTF_8);
        return switch (manifest) {
            case "q" -> new Message.Query(n, resolved(text));
            case "c" -> new Message.Count(resolved(text));
            case "m" -> new Message.Mark(resolved(text));
            case "a" -> new Message.Answer(n, text);
            default -> throw new IllegalArgumentException("no message: " + manifest);
        };
    }

    private static byte[] with(long n, String text) {
        byte[] t = text.getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(Long.BYTES + t.length).putLong(n).put(t).array();
    }

    private String ref(ActorRef<Message.Answer> to) {
        return to == null ? "" : refs.toSerializationFormat(to);
    }

    private ActorRef<Message.Answer> resolved(String text) {
        return text.isEmpty() ? null : refs.resolveActorRef(text);
    }
}
