package org.dl4;

import static org.dl4.Tests.equal;
import static org.dl4.Tests.line;
import static org.dl4.Tests.refused;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Map;

/** Tensors of numbers and of strings, and layers that learn from data. */
final class TensorTests {
  private TensorTests() {}

  static void testTensorsOfEveryType() {
    equal(Tensor.of(new float[] {1.5f, -2}, 2).toFloats(), new float[] {1.5f, -2});
    equal(Tensor.of(new double[] {1e300, -2}, 2).toDoubles(), new double[] {1e300, -2});
    equal(
        Tensor.of(new int[] {Integer.MIN_VALUE, 7}, 2).toInts(), new int[] {Integer.MIN_VALUE, 7});
    equal(Tensor.of(new long[] {Long.MIN_VALUE, 7}, 2).toLongs(), new long[] {Long.MIN_VALUE, 7});
    equal(Tensor.of(new byte[] {-1, 7}, 2).toBytes(), new byte[] {-1, 7});
    equal(Tensor.of(new boolean[] {true, false}, 2).toBooleans(), new boolean[] {true, false});
    equal(Tensor.of(new float[] {2.5f}).shape(), new long[0]);
    Tensor none = Tensor.of(new float[0], 0, 3);
    equal(none.shape(), new long[] {0, 3});
    equal(none.floats().capacity(), 0);
  }

  static void testTensorsRefuse() {
    refused(Code.SHAPE_MISMATCH, () -> Tensor.of(new float[3], 2, 2));
    refused(Code.INVALID_ARGUMENT, () -> Tensor.zeros(DType.FLOAT32, -1));
    refused(Code.SHAPE_MISMATCH, () -> line(2).toInts());
    refused(Code.SHAPE_MISMATCH, () -> line(2).longs());
    refused(Code.SHAPE_MISMATCH, () -> line(2).set(1, 2));
    refused(Code.INVALID_ARGUMENT, () -> Tensor.wrap(FloatBuffer.allocate(2), 2));
    ByteBuffer b = ByteBuffer.allocateDirect(8).order(ByteOrder.BIG_ENDIAN);
    refused(Code.INVALID_ARGUMENT, () -> Tensor.wrap(b.asFloatBuffer(), 2));
    refused(Code.INVALID_ARGUMENT, () -> Tensor.wrap(b.asCharBuffer(), 2));
    refused(Code.SHAPE_MISMATCH, () -> Tensor.wrap(b, 9));
  }

  static void testBuffersSeeTensors() {
    FloatBuffer mine = ByteBuffer.allocateDirect(32).order(ByteOrder.nativeOrder()).asFloatBuffer();
    mine.position(2);
    Tensor w = Tensor.wrap(mine, 2, 3);
    mine.put(3, 9);
    equal(w.toFloats(), new float[] {0, 9, 0, 0, 0, 0});
    equal(w.share().toFloats(), w.copy().toFloats());
    Tensor t = line(2, 3);
    t.floats().put(0, 7);
    equal(t.toFloats()[0], 7f);
  }

  private static Session lookup() {
    Map<String, Object> words = Map.of("vocabulary", List.of("red", "green"));
    Map<String, Object> back = Map.of("vocabulary", words.get("vocabulary"), "invert", true);
    Graph g = new Graph();
    Node x = g.input("x", DType.STRING, -1, 1);
    Node ids = g.add("StringLookup", words, x);
    Node names = g.add("StringLookup", back, ids);
    return new Session(g.build(List.of(x), List.of(ids, names)));
  }

  static void testStringsInAndOut() {
    String[] given = {"a", "b\0\u00e9", "", "\uD83D\uDE00"};
    Tensor t = Tensor.of(given, 2, 2);
    equal(t.dtype(), DType.STRING);
    equal(t.shape(), new long[] {2, 2});
    equal(t.toStrings(), given);
    equal(t.copy().toStrings(), given);
    equal(Tensor.of(new String[] {"one"}).shape(), new long[0]);
    equal(Tensor.of(new String[0], 0, 3).toStrings(), new String[0]);
    byte[][] wrong = {{-1, 0}, {}};
    Tensor bytes = Tensor.of(wrong, 2);
    equal(bytes.toByteArrays(), wrong);
    refused(Code.INVALID_ARGUMENT, bytes::toStrings);
    String[] many = new String[5000];
    for (int i = 0; i < many.length; i++) {
      many[i] = "a longer text, number " + i;
    }
    equal(Tensor.of(many, 5000).toStrings(), many);

    Tensor[] out = lookup().run(Tensor.of(new String[] {"green", "blue"}, 2, 1));
    equal(out[0].toLongs(), new long[] {2, 0});
    equal(out[1].toStrings(), new String[] {"green", "[UNK]"});
  }

  static void testStringsRefuse() {
    Tensor t = Tensor.of(new String[] {"a"}, 1, 1);
    refused(Code.SHAPE_MISMATCH, () -> Tensor.of(new String[] {"a"}, 2));
    refused(Code.INVALID_ARGUMENT, () -> Tensor.of(new String[] {"a", null}, 2));
    refused(Code.INVALID_ARGUMENT, () -> Tensor.of(new String[] {"\uD83D"}, 1));
    refused(Code.INVALID_ARGUMENT, () -> Tensor.of(new byte[1][], 1));
    refused(Code.UNSUPPORTED, t::buffer);
    refused(Code.SHAPE_MISMATCH, t::toFloats);
    refused(Code.SHAPE_MISMATCH, () -> t.set(1f));
    refused(Code.SHAPE_MISMATCH, () -> Tensor.of(new float[1], 1).toStrings());
    refused(Code.SHAPE_MISMATCH, () -> lookup().run(Tensor.of(new float[1], 1, 1)));
    Tensor[] into = {Tensor.of(new long[1], 1, 1), t};
    refused(Code.INVALID_ARGUMENT, () -> lookup().runInto(new Tensor[] {t}, into));
  }

  static void testAdapt() {
    String[] texts = {"good film", "bad film", "good"};
    Tensor[] x = {Tensor.of(texts, 3, 1)};
    Dataset data = Dataset.of(null, x, null, null, Map.of("batch_size", 2));
    Map<String, Object> given = Map.of("output_sequence_length", 3);
    Map<String, Object> learned = data.adapt("TextVectorization", given);
    Dataset batches =
        Dataset.of(
            i -> i == 3 ? null : new Batch(row(texts[(int) i]), new Tensor[0], null), Map.of());
    equal(batches.adapt("TextVectorization", given), learned);

    Graph g = new Graph();
    Node in = g.input("x", DType.STRING, -1, 1);
    Session s = new Session(g.build(in, g.add("TextVectorization", learned, in)));
    equal(s.run(x)[0].shape(), new long[] {3, 3});
    refused(Code.UNSUPPORTED, () -> data.adapt("Dense", Map.of("units", 1)));
    Cancel cancel = new Cancel();
    cancel.trigger();
    refused(Code.CANCELLED, () -> data.adapt(null, "StringLookup", null, cancel));
    Dataset failing =
        Dataset.of(
            i -> {
              throw new IllegalStateException("no more");
            },
            Map.of());
    try {
      failing.adapt("StringLookup", null);
      throw new AssertionError("nothing was thrown");
    } catch (IllegalStateException e) {
      equal(e.getMessage(), "no more");
    }
  }

  private static Tensor[] row(String text) {
    return new Tensor[] {Tensor.of(new String[] {text}, 1, 1)};
  }
}
