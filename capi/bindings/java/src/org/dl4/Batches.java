package org.dl4;

/**
 * Gives batches, by their number in the epoch; null ends an epoch. What it throws comes out of the
 * call that asked.
 */
@FunctionalInterface
public interface Batches {
  Batch get(long index) throws Exception;
}
