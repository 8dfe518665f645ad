package org.dl4;

import java.nio.FloatBuffer;
import java.nio.IntBuffer;

/**
 * Sums numbers in place over all workers of a trainer, to the same bits on each; the buffers are
 * the library's memory, valid during the call.
 */
public interface Reduce<E extends Exception> {
  void floats(FloatBuffer values) throws E;

  void ints(IntBuffer values) throws E;
}
