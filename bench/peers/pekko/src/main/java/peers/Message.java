package peers;

import org.apache.pekko.actor.typed.ActorRef;

/** What the measured entities understand, and their answer. */
interface Message {
    /** Is told; it has a payload. */
    record Note(byte[] body) implements Message {}

    /** Is answered with its own number. */
    record Query(long n, ActorRef<Answer> to) implements Message {}

    /** Asks how many notes the entity got. */
    record Count(ActorRef<Answer> to) implements Message {}

    /** Passes the gate of the process, and is answered then, if it was asked. */
    record Mark(ActorRef<Answer> to) implements Message {}

    /** The answer, with the address of the entity's process. */
    record Answer(long n, String at) implements Message {}
}
