package io.kvtier.store.simulation;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Command line of the simulation, for more seeds than the test has and for a look at one. */
final class SimulationRun {
    private static final String USAGE = "usage: FIRST COUNT | trace SEED [BROKEN_RULE] | find [BROKEN_RULE]";
    private static final int MAX_SEEDS = 100_000;
    private static final int SHOWN_OF_A_KIND = 2;

    private SimulationRun() {
    }

    /**
     * Runs seeds {@code FIRST COUNT}, shows all that happens in one {@code trace SEED}, or looks for the first one that
     * fails, {@code find}, with one of the clients' rules broken or none.
     *
     * @param args as above.
     */
    public static void main(final String[] args) {
        if (args.length == 0 || args.length == 1 && !args[0].equals("find")) {
            throw new IllegalArgumentException(USAGE);
        }
        switch (args[0]) {
            case "trace" -> Simulation.run(Long.parseLong(args[1]),
                args.length > 2 ? Rule.without(Rule.valueOf(args[2])) : Rule.ALL, System.out);
            case "find" -> find(args.length > 1 ? Rule.without(Rule.valueOf(args[1])) : Rule.ALL);
            default -> runAll(Long.parseLong(args[0]), Long.parseLong(args[1]));
        }
    }

    private static void find(final Set<Rule> rules) {
        for (int seed = 1; seed <= MAX_SEEDS; seed++) {
            try {
                Simulation.run(seed, rules, null);
            } catch (final Violation e) {
                System.out.println("seed " + seed + ": " + e.getMessage());
                return;
            }
        }
        System.out.println("nothing found in " + MAX_SEEDS + " seeds");
    }

    private static void runAll(final long first, final long count) {
        final Tally tally = new Tally();
        final Map<String, Integer> kinds = new TreeMap<>();
        for (long seed = first; seed < first + count; seed++) {
            try {
                tally.add(Simulation.run(seed, Rule.ALL, null));
            } catch (final Violation e) {
                final String kind = e.getMessage().replaceAll("[:,\\[].*", "").replaceAll("[0-9]+", "N");
                if (kinds.merge(kind, 1, Integer::sum) <= SHOWN_OF_A_KIND) {
                    System.out.println("seed " + seed + ": " + e.getMessage());
                }
            }
        }
        System.out.print(tally);
        kinds.forEach((kind, n) -> System.out.println(n + " seeds of " + count + ": " + kind));
    }
}
