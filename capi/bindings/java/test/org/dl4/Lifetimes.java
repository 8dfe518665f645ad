package org.dl4;

import static org.dl4.Tests.data;
import static org.dl4.Tests.equal;
import static org.dl4.Tests.line;
import static org.dl4.Tests.refused;
import static org.dl4.Tests.small;
import static org.dl4.Tests.thrown;
import static org.dl4.Tests.trainer;

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;

/** Objects that end in any order, threads, processes. */
final class Lifetimes {
  static void testClosedObjectsAreRefused() {
    Model m = small();
    Session s = new Session(m);
    Tensor x = line(2, 4);
    m.close();
    m.close();
    refused(Code.INVALID_ARGUMENT, m::weights);
    s.run(x); // it has what it needs
    x.close();
    equal(refused(Code.INVALID_ARGUMENT, () -> s.run(x)).getMessage(), "dl4: the Tensor is closed");
    refused(Code.INVALID_ARGUMENT, x::buffer);
    refused(Code.INVALID_ARGUMENT, x::share);
    s.close();
    refused(Code.INVALID_ARGUMENT, () -> s.run(line(2, 4)));
  }

  private static long pages() throws Exception {
    return Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]);
  }

  /**
   * Cleaners run in an order of the collector's, between objects that are closed in one of chance.
   */
  private static void torture(int n, Random r) throws Exception {
    for (int made = 0; made < n; ) {
      Model m = small();
      Trainer t = new Trainer(m, Map.of("optimizer", "adam", "loss", "mse"));
      Tensor x = line(5, 4);
      Tensor y = line(5, 3);
      Dataset d = Dataset.of(x, y, null);
      Dataset f = CallbackTests.batches(null);
      t.fit(d, f, null, null, null);
      Session s = new Session(m);
      List<Handle> things = new ArrayList<>(List.of(m, t, x, y, d, f, s, s.run(x)[0], m.copy()));
      things.add(Tensor.wrap(x.floats(), 5, 4));
      things.add(new Context(null));
      Collections.shuffle(things, r);
      things.subList(0, r.nextInt(things.size())).forEach(Handle::close);
      made += things.size() + 6;
      if (made % 50 == 0) {
        System.gc();
      }
    }
    for (int i = 0; i < 5; i++) {
      System.gc();
      Thread.sleep(20);
    }
  }

  static void testManyObjectsInRandomOrder() throws Exception {
    Random r = new Random(1);
    torture(4000, r);
    long before = pages();
    torture(10000, r);
    long grown = pages() - before;
    if (grown > 10000) {
      throw new AssertionError(grown + " pages are left");
    }
  }

  static void testOneSessionOnManyThreads() throws Exception {
    Session s = new Session(small());
    Tensor x = line(2, 4);
    float[] want = s.run(x)[0].toFloats();
    List<Throwable> wrong = Collections.synchronizedList(new ArrayList<>());
    Runnable work =
        () -> {
          Tensor[] out = new Tensor[1];
          for (int i = 0; i < 200; i++) {
            s.runInto(new Tensor[] {x}, out);
            if (!Arrays.equals(out[0].toFloats(), want)) {
              wrong.add(new AssertionError("another result"));
            }
          }
        };
    together(8, work, wrong);
    equal(wrong, List.of());
  }

  private static void together(int n, Runnable work, List<Throwable> wrong) throws Exception {
    List<Thread> all = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      Thread t = new Thread(work);
      t.setUncaughtExceptionHandler((thread, e) -> wrong.add(e));
      t.start();
      all.add(t);
    }
    for (Thread t : all) {
      t.join();
    }
  }

  static void testCloseWhileOthersRun() throws Exception {
    List<Throwable> wrong = Collections.synchronizedList(new ArrayList<>());
    for (int i = 0; i < 50; i++) {
      Session s = new Session(small());
      CountDownLatch begun = new CountDownLatch(4);
      Thread closes =
          new Thread(
              () -> {
                thrown(begun::await);
                s.close();
              });
      closes.start();
      Runnable work =
          () -> {
            Tensor x = line(2, 4);
            s.run(x);
            begun.countDown();
            Throwable end;
            do {
              end = thrown(() -> s.run(x));
            } while (end == null);
            if (!(end instanceof Dl4Exception e) || e.code() != Code.INVALID_ARGUMENT) {
              wrong.add(end);
            }
          };
      together(4, work, wrong);
      closes.join();
    }
    equal(wrong, List.of());
  }

  static void testASecondCallerIsRefused() {
    Trainer t = trainer();
    Dataset d = data();
    Dataset other = data();
    List<Throwable> got = new ArrayList<>();
    Progress.Listener<InterruptedException> listener =
        p -> {
          Thread second = new Thread(() -> got.add(thrown(() -> t.evaluate(other, null))));
          second.start();
          second.join();
          t.step(line(2, 4), line(2, 3));
          return Progress.Flow.CONTINUE;
        };
    refused(Code.BUSY, () -> t.fit(d, null, null, listener, null));
    equal(((Dl4Exception) got.get(0)).code(), Code.BUSY);
  }

  // Programs that must end in a way of their own are this one again.
  static void child(String what) throws Exception {
    switch (what) {
      case "version" -> System.out.print(thrown(Dl4::version).getMessage());
      default -> {
        CountDownLatch running = new CountDownLatch(10);
        Trainer t = trainer();
        Dataset d = data();
        Progress.Listener<RuntimeException> listener =
            p -> {
              running.countDown();
              return Progress.Flow.CONTINUE;
            };
        Thread fit = new Thread(() -> t.fit(d, null, Map.of("epochs", 1L << 40), listener, null));
        fit.setDaemon(true);
        fit.start();
        running.await();
        if (what.equals("exit")) {
          System.exit(0);
        }
      }
    }
  }

  private static String again(String what, Map<String, String> env) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.addAll(List.of("org.dl4.Tests", "--child", what));
    ProcessBuilder b = new ProcessBuilder(command);
    b.environment().putAll(env);
    Process p = b.redirectErrorStream(true).start();
    String out = new String(p.getInputStream().readAllBytes());
    return p.waitFor() + out;
  }

  static void testTheProgramEndsWhileObjectsLive() throws Exception {
    equal(again("exit", Map.of()), "0");
    equal(again("end of main", Map.of()), "0");
  }

  static void testALibraryThatIsMissingIsNamed() throws Exception {
    String got = again("version", Map.of("DL4_LIBRARY", "/nowhere/libdl4.so.1"));
    equal(got.startsWith("0") && got.contains("/nowhere/libdl4.so.1"), true);
  }

  static void testALibraryOfAnotherMajorVersionIsRefused() throws Exception {
    Path folder = Files.createTempDirectory("dl4");
    Path c = folder.resolve("two.c");
    Files.writeString(c, "int dl4_version(void) { return 2000003; }\n");
    String so = folder.resolve("two.so").toString();
    Process gcc;
    try {
      gcc = new ProcessBuilder("gcc", "-shared", "-fPIC", "-o", so, c.toString()).start();
    } catch (java.io.IOException e) {
      System.out.println("skipped: there is no gcc to make a library of version 2");
      return;
    }
    equal(gcc.waitFor(), 0);
    String want = "0dl4 for Java is made for version 1 of the library, found 2.0.3";
    equal(again("version", Map.of("DL4_LIBRARY", so)), want);
    Tests.remove(folder);
  }
}
