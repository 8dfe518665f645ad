package org.dl4;

/**
 * How far a fit is. metrics, at BATCH_END and EPOCH_END, are the means over the epoch so far, in
 * the order of {@link Trainer#metricNames}; at EPOCH_END those of validation follow, if there was
 * one.
 */
public record Progress(Event event, long step, long total, double[] metrics) {
  /** When a listener is called, and what step and total count. */
  public enum Event {
    /** The first epoch, from 0; epochs. */
    TRAIN_BEGIN,
    /** The epoch, from 0; epochs. */
    EPOCH_BEGIN,
    /** Batches done in this epoch; batches of an epoch, -1 if unknown. */
    BATCH_END,
    /** Epochs done; epochs. */
    EPOCH_END,
    /** Epochs done; epochs. */
    TRAIN_END
  }

  /**
   * Hears how far a fit is; STOP ends it, and it then succeeds. What it throws comes out of the
   * fit.
   */
  @FunctionalInterface
  public interface Listener<E extends Exception> {
    Flow at(Progress p) throws E;
  }

  /** What a listener answers. */
  public enum Flow {
    CONTINUE,
    STOP
  }
}
