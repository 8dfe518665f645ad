package org.dl4;

import static org.dl4.Tests.data;
import static org.dl4.Tests.equal;
import static org.dl4.Tests.line;
import static org.dl4.Tests.refused;
import static org.dl4.Tests.small;
import static org.dl4.Tests.thrown;
import static org.dl4.Tests.trainer;

import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.Map;
import java.util.concurrent.CyclicBarrier;
import java.util.stream.IntStream;

/** Trainers that add up by a function of Java's. */
final class WorkerTests {
  /** Sums over threads that meet here, in the order of their ranks. */
  private static final class Ring {
    final CyclicBarrier meeting;
    final double[][] parts;

    Ring(int size) {
      meeting = new CyclicBarrier(size);
      parts = new double[size][];
    }

    /** Of numbers that a double holds, the sums of all of them. */
    double[] sums(int rank, double[] mine) throws Exception {
      parts[rank] = mine;
      meeting.await();
      double[] sums = new double[mine.length];
      for (double[] part : parts) {
        for (int i = 0; i < sums.length; i++) {
          sums[i] += part[i];
        }
      }
      meeting.await();
      return sums;
    }

    Reduce<Exception> at(int rank) {
      return new Reduce<>() {
        @Override
        public void floats(FloatBuffer values) throws Exception {
          double[] sums =
              sums(rank, IntStream.range(0, values.limit()).mapToDouble(values::get).toArray());
          for (int i = 0; i < sums.length; i++) {
            values.put(i, (float) sums[i]);
          }
        }

        @Override
        public void ints(IntBuffer values) throws Exception {
          double[] sums =
              sums(rank, IntStream.range(0, values.limit()).mapToDouble(values::get).toArray());
          for (int i = 0; i < sums.length; i++) {
            values.put(i, (int) (long) sums[i]);
          }
        }
      };
    }
  }

  private static Reduce<IOException> failing(IOException mine) {
    return new Reduce<>() {
      @Override
      public void floats(FloatBuffer values) throws IOException {
        throw mine;
      }

      @Override
      public void ints(IntBuffer values) throws IOException {
        throw mine;
      }
    };
  }

  private static float[] train(Model m, Reduce<Exception> reduce, int rank) throws Exception {
    Trainer t = new Trainer(m, Map.of("optimizer", "adam", "loss", "mse"));
    if (reduce != null) {
      t.setWorkers(rank, 2, reduce);
    }
    t.fit(data(), Map.of("epochs", 3));
    float[] weights = m.weight("*").toFloats();
    if (reduce != null) {
      t.setWorkers(0, 1, null);
      t.step(line(2, 4), line(2, 3));
    }
    return weights;
  }

  static void testWorkersTrainAsOne() throws Exception {
    Model first = small();
    Model second = first.copy();
    Model alone = first.copy();
    Ring ring = new Ring(2);
    float[][] ends = new float[3][];
    Throwable[] failed = new Throwable[1];
    Thread other =
        new Thread(() -> failed[0] = thrown(() -> ends[1] = train(second, ring.at(1), 1)));
    other.start();
    ends[0] = train(first, ring.at(0), 0);
    other.join();
    equal(failed[0], null);
    ends[2] = train(alone, null, 0);
    equal(ends[1], ends[0]);
    for (int i = 0; i < ends[2].length; i++) {
      if (Math.abs(ends[2][i] - ends[0][i]) > 1e-5) {
        throw new AssertionError("weight " + i + ": " + ends[0][i] + ", want " + ends[2][i]);
      }
    }
  }

  static void testWorkersFail() throws Exception {
    Tests.collect(); // what other tests left
    int kept = Callbacks.kept();
    IOException mine = new IOException("mine");
    Trainer t = trainer();
    equal(thrown(() -> t.setWorkers(0, 2, failing(mine))), mine);
    refused(Code.INVALID_ARGUMENT, () -> t.setWorkers(2, 2, failing(mine)));
    refused(Code.INVALID_ARGUMENT, () -> t.setWorkers(0, 2, null));
    equal(Callbacks.kept(), kept);
    t.setWorkers(0, 1, failing(mine)); // nothing to add up
    t.step(line(2, 4), line(2, 3));
    equal(Callbacks.kept(), kept + 1);
    t.close();
    equal(Callbacks.kept(), kept);
    equal(Callbacks.waiting(), 0);
  }
}
