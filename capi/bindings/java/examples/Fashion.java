import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.zip.GZIPInputStream;
import org.dl4.DType;
import org.dl4.Dataset;
import org.dl4.Graph;
import org.dl4.Handle;
import org.dl4.Model;
import org.dl4.Node;
import org.dl4.Progress;
import org.dl4.Tensor;
import org.dl4.Trainer;

/**
 * Trains a small convolutional network to tell clothes apart: Fashion FOLDER [EPOCHS]. FOLDER holds
 * t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz of Fashion-MNIST: the first 9,000 images
 * are for training, the last 1,000 for the test.
 */
public class Fashion {
  static final int SIDE = 28;
  static final int PIXELS = SIDE * SIDE;
  static final int TRAIN = 9000;
  static final int TEST = 1000;

  /** The bytes of a file past its header, which must be magic and the dimensions. */
  static byte[] read(String folder, String name, int... header) throws IOException {
    try (GZIPInputStream in = new GZIPInputStream(Files.newInputStream(Path.of(folder, name)))) {
      ByteBuffer all = ByteBuffer.wrap(in.readAllBytes());
      int size = 1;
      for (int i = 0; i < header.length; i++) {
        if (all.getInt() != header[i]) {
          throw new IOException(name + ": expected " + header[i] + " at " + 4 * i);
        }
        size *= i == 0 ? 1 : header[i];
      }
      if (all.remaining() != size) {
        throw new IOException(name + ": expected " + size + " bytes, got " + all.remaining());
      }
      return Arrays.copyOfRange(all.array(), all.position(), all.limit());
    }
  }

  static Dataset dataset(byte[] pixels, byte[] labels, int begin, int n) {
    float[] x = new float[n * PIXELS];
    int[] y = new int[n];
    for (int i = 0; i < x.length; i++) {
      x[i] = (pixels[begin * PIXELS + i] & 255) / 255f;
    }
    for (int i = 0; i < n; i++) {
      y[i] = labels[begin + i];
    }
    Map<String, ?> options = Map.of("batch_size", 128);
    return Dataset.of(Tensor.of(x, n, SIDE, SIDE, 1), Tensor.of(y, n), options);
  }

  static Model network() {
    Graph g = new Graph();
    Node x = g.input("image", DType.FLOAT32, -1, SIDE, SIDE, 1);
    Node h = g.add("Conv2D", Map.of("filters", 16, "kernel_size", 3, "activation", "relu"), x);
    h = g.add("MaxPooling2D", Map.of("pool_size", 2), h);
    h = g.add("Conv2D", Map.of("filters", 32, "kernel_size", 3, "activation", "relu"), h);
    h = g.add("MaxPooling2D", Map.of("pool_size", 2), h);
    h = g.add("Flatten", null, h);
    return g.build(x, g.add("Dense", Map.of("units", 10, "activation", "softmax"), h));
  }

  public static void main(String[] args) throws IOException {
    byte[] pixels = read(args[0], "t10k-images-idx3-ubyte.gz", 2051, TRAIN + TEST, SIDE, SIDE);
    byte[] labels = read(args[0], "t10k-labels-idx1-ubyte.gz", 2049, TRAIN + TEST);
    int epochs = args.length > 1 ? Integer.parseInt(args[1]) : 10;
    Model model = network();
    System.out.println(model.describe(Handle.Format.TEXT));
    String loss = "SparseCategoricalCrossentropy";
    Trainer trainer =
        new Trainer(
            model, Map.of("optimizer", "Adam", "loss", loss, "metrics", new String[] {"accuracy"}));
    Dataset test = dataset(pixels, labels, TRAIN, TEST);
    long begin = System.nanoTime();
    Progress.Listener<RuntimeException> listener =
        p -> {
          if (p.event() == Progress.Event.EPOCH_END) {
            double[] m = p.metrics();
            System.out.printf(
                "epoch %2d/%d  loss %.4f  accuracy %.4f  validation loss %.4f  accuracy %.4f%n",
                p.step(), p.total(), m[0], m[1], m[2], m[3]);
          }
          return Progress.Flow.CONTINUE;
        };
    trainer.fit(dataset(pixels, labels, 0, TRAIN), test, Map.of("epochs", epochs), listener, null);
    double seconds = 1e-9 * (System.nanoTime() - begin);
    System.out.printf(
        "test accuracy %.4f after %.1f s%n", trainer.evaluate(test, null)[1], seconds);
  }
}
