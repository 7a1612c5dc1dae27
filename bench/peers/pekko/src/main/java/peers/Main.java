package peers;

import java.util.Arrays;
import java.util.List;

/** A process of Apache Pekko that is measured. Its words say what it does; it prints lines of figures. */
public final class Main {
    /** The longest life of a process, in milliseconds. */
    private static final long LIFE_MS = 20 * 60 * 1000;

    private Main() {}

    public static void main(String[] words) {
        Thread end = new Thread(() -> {
            try {
                Thread.sleep(LIFE_MS);
            } catch (InterruptedException e) {
                return;
            }
            Runtime.getRuntime().halt(3);
        });
        end.setDaemon(true);
        end.start();
        int code = 0;
        try {
            run(words);
        } catch (Throwable t) {
            t.printStackTrace();
            code = 1;
        }
        System.out.flush();
        Runtime.getRuntime().halt(code); // no system has to leave its cluster in good order
    }

    private static void run(String[] words) throws Exception {
        List<String> rest = Arrays.asList(words).subList(1, words.length);
        switch (words[0]) {
            case "ddata" -> Data.run(Long.parseLong(words[1]), Long.parseLong(words[2]));
            case "sets" -> Sets.run(Integer.parseInt(words[1]), Long.parseLong(words[2]), Long.parseLong(words[3]));
            case "keys" -> Memory.keys(Integer.parseInt(words[1]));
            case "entities" -> Memory.entities(Integer.parseInt(words[1]));
            case "remember" -> Remember.run(Integer.parseInt(words[1]), Integer.parseInt(words[2]), words[3],
                rest.subList(3, rest.size()));
            case "node" -> new Host(words[1].equals("host"), words[2], Integer.parseInt(words[3]),
                rest.subList(3, rest.size())).serve();
            default -> throw new IllegalArgumentException("unknown words " + rest);
        }
    }
}
