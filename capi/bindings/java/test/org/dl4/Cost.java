package org.dl4;

import java.util.Map;

/**
 * Measures what a run of the article's dense model takes in microseconds, as the least of many
 * means: to compare with C's.
 */
final class Cost {
  private static double least(Runnable f) {
    double best = Double.MAX_VALUE;
    for (int i = 0; i < 200; i++) {
      long begin = System.nanoTime();
      for (int k = 0; k < 500; k++) {
        f.run();
      }
      best = Math.min(best, 1e-3 * (System.nanoTime() - begin) / 500);
    }
    return best;
  }

  public static void main(String[] args) {
    Graph g = new Graph();
    Node x = g.input("x", DType.FLOAT32, -1, 28, 28);
    Node h = g.add("Flatten", null, x);
    h = g.add("Dense", Map.of("units", 128, "activation", "relu"), h);
    h = g.add("Dense", Map.of("units", 10, "activation", "softmax"), h);
    Session s = new Session(g.build(x, h));
    Tensor[] in = {Tensor.zeros(DType.FLOAT32, 1, 28, 28)};
    Tensor[] out = {Tensor.zeros(DType.FLOAT32, 1, 10)};
    float[] pixels = new float[28 * 28];
    System.out.printf("tensors used again\t%.2f%n", least(() -> s.runInto(in, out)));
    Runnable arrays =
        () -> {
          try (Tensor image = Tensor.of(pixels, 1, 28, 28);
              Tensor answer = s.run(image)[0]) {
            answer.toFloats();
          }
        };
    System.out.printf("arrays in and out\t%.2f%n", least(arrays));
  }
}
