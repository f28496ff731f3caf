package io.kvtier.store.master.state;

import io.kvtier.kit.LeakCheck;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/**
 * The shared files under two tenants, three clients and masters one after the other: no two values on one page, what is
 * complete is there, a lease holds, and in the end every page is free.
 */
class PageProperties {
    private static final int STEPS = 500;

    @Property(tries = 150)
    void shouldNeverNamePagesThatHaveAnotherValue(@ForAll final long seed) {
        LeakCheck.around(() -> {
            final PageModel model = new PageModel(new Random(seed));
            try {
                for (int i = 0; i < STEPS; i++) {
                    model.step();
                }
                model.quiesce();
            } finally {
                model.close();
            }
        });
    }
}
