package org.dl4;

import java.nio.LongBuffer;

/**
 * One batch: a tensor for each input and each target, and sample weights, if there are any, for
 * each target or null. The tensors pass to the dataset, which closes them; keep one by {@link
 * Tensor#share}.
 */
public record Batch(Tensor[] x, Tensor[] y, Tensor[] w) {
  public Batch(Tensor x, Tensor y) {
    this(new Tensor[] {x}, new Tensor[] {y}, new Tensor[0]);
  }

  /** Gives the library new references of all tensors. */
  void hand(long index, long[] slots, long[] counts) {
    Tensor[][] parts = {x, y, w == null ? new Tensor[0] : w};
    try (Call c = new Call()) {
      for (int p = 0; p < 3; p++) {
        if (parts[p].length != counts[p] && (p < 2 || parts[p].length > 0)) {
          String got = x.length + ", " + y.length + ", " + parts[2].length;
          throw Dl4Exception.invalid(
              "batch "
                  + index
                  + ": expected "
                  + counts[0]
                  + " inputs, "
                  + counts[1]
                  + " targets and 0 or "
                  + counts[2]
                  + " sample weights, got "
                  + got);
        }
      }
      long[] handed = new long[3];
      for (int p = 0; p < 3; p++) {
        handed[p] = c.tensors(parts[p]);
      }
      for (int p = 0; p < 3; p++) {
        LongBuffer slot = Foreign.memory(slots[p], 8L * parts[p].length).asLongBuffer();
        for (int i = 0; i < parts[p].length; i++) {
          long t = c.get(handed[p], i);
          if (t != 0) {
            Lib.dl4_retain(t);
          }
          slot.put(i, t);
        }
      }
    } finally {
      for (Tensor[] part : parts) {
        for (Tensor t : part) {
          if (t != null) {
            t.close();
          }
        }
      }
    }
  }
}
