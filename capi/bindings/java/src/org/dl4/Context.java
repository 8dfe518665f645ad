package org.dl4;

import java.util.Map;

/**
 * Threads, seed and memory limit of what is made in it. Where one is asked for, null stands for the
 * default one of the process; most programs never make one.
 */
public final class Context extends Handle {
  /** Options are those of dl4_context_create: "threads", "seed", "memory_limit", ... */
  public Context(Map<String, ?> options) {
    super(made(options));
  }

  private static long made(Map<String, ?> options) {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_context_create(c.options(options), out));
      return c.get(out, 0);
    }
  }

  /** Each graph made from now on draws from the start of that seed's random numbers. */
  public void setSeed(long seed) {
    try (Call c = new Call()) {
      c.check(Lib.dl4_context_set_seed(c.use(this), seed));
    }
  }

  /** Gives memory back that is only kept for speed. */
  public void trim() {
    try (Call c = new Call()) {
      c.check(Lib.dl4_context_trim(c.use(this)));
    }
  }

  /** Levels of log messages. */
  public enum Level {
    TRACE,
    DEBUG,
    INFO,
    WARNING,
    ERROR
  }

  /**
   * Takes log messages, on the thread of the call that logs. What it throws goes to that thread's
   * handler.
   */
  @FunctionalInterface
  public interface Logger {
    void log(Level level, String message);
  }

  /**
   * Gives messages from a level up to a logger, which is kept until the process ends; null means
   * silence.
   */
  public void setLogger(Level least, Logger logger) {
    long user = logger == null ? 0 : Callbacks.keep(logger);
    try (Call c = new Call()) {
      long fn = logger == null ? 0 : Callbacks.LOG;
      c.check(Lib.dl4_context_set_logger(c.use(this), least.ordinal(), fn, user));
    }
  }
}
