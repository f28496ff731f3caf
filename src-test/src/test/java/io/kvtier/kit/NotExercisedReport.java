package io.kvtier.kit;

import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;

/** Prints what the run could not exercise, once, when its launcher session ends; found as a service. */
public final class NotExercisedReport implements LauncherSessionListener {
    @Override
    public void launcherSessionClosed(final LauncherSession session) {
        NotExercised.lines().forEach(System.out::println);
    }
}
