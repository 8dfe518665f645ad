package org.dl4;

import java.nio.IntBuffer;
import java.util.List;

/**
 * A layer, loss or metric of your own. Its functions run on the thread that made the call, on
 * several at once where several run sessions. The tensors that they are given are valid during the
 * call. config is the attribute of that name.
 *
 * @param doc what it does, for readers of the registry; may be null
 * @param outputs of a layer
 * @param weights names of a layer's weights
 * @param shape null: every output has the shape of the last source
 * @param backward null: the kind can't be trained through
 */
public record Kind(
    String doc,
    int outputs,
    List<String> weights,
    Shape shape,
    Forward forward,
    Backward backward) {

  /** Shapes of the outputs, then of the weights, for sources of these shapes; -1 is free. */
  @FunctionalInterface
  public interface Shape {
    long[][] of(String config, long[][] src) throws Exception;
  }

  /**
   * Computes every element of dst from src: the inputs, then the weights; of a loss or metric
   * y_true and y_pred. A dst that is not needed is null.
   */
  @FunctionalInterface
  public interface Forward {
    void run(String config, Tensor[] src, Tensor[] dst) throws Exception;
  }

  /**
   * Computes every element of diffSrc, the gradients of src. A diffSrc that is not needed is null.
   */
  @FunctionalInterface
  public interface Backward {
    void run(String config, Tensor[] src, Tensor[] dst, Tensor[] diffDst, Tensor[] diffSrc)
        throws Exception;
  }

  void callShape(
      String config, long ranks, long dims, int nSrc, long outRanks, long outDims, int nOut)
      throws Exception {
    long[][] src = new long[nSrc][];
    IntBuffer rank = Foreign.memory(ranks, 4L * nSrc).asIntBuffer();
    for (int i = 0; i < nSrc; i++) {
      src[i] = new long[rank.get(i)];
      Foreign.memory(dims, 8L * src[i].length).asLongBuffer().get(src[i]);
      dims += 8L * src[i].length;
    }
    long[][] out = shape.of(config, src);
    if (out.length != nOut) {
      throw Dl4Exception.invalid("shape: expected " + nOut + " shapes, got " + out.length);
    }
    IntBuffer outRank = Foreign.memory(outRanks, 4L * nOut).asIntBuffer();
    for (int i = 0; i < nOut; i++) {
      if (out[i].length > 8) {
        throw Dl4Exception.invalid("shape: expected at most 8 dimensions, got " + out[i].length);
      }
      outRank.put(i, out[i].length);
      Foreign.memory(outDims + 64L * i, 64).asLongBuffer().put(out[i]);
    }
  }
}
