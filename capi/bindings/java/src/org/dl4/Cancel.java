package org.dl4;

/**
 * A flag that stops long work, for any number of calls. Once triggered it stays so. Any thread may
 * use it.
 */
public final class Cancel extends Handle {
  public Cancel() {
    super(made());
  }

  private static long made() {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_cancel_create(out));
      return c.get(out, 0);
    }
  }

  /** Asks everything that was given this flag to stop soon. */
  public void trigger() {
    try (Call c = new Call()) {
      Lib.dl4_cancel_trigger(c.use(this));
    }
  }

  public boolean triggered() {
    try (Call c = new Call()) {
      return Lib.dl4_cancel_triggered(c.use(this)) != 0;
    }
  }
}
