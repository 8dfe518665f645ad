package org.dl4;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** The library's file. MakeLib makes the list of its functions, Lib, from dl4-api.json. */
final class Library {
  private static final int MAJOR = 1;

  static final Foreign LIBRARY = open();

  static {
    if (number() / 1000000 != MAJOR) {
      throw new UnsatisfiedLinkError(
          "dl4 for Java is made for version " + MAJOR + " of the library, found " + version());
    }
  }

  private Library() {}

  /** The one that is named, else the jar's own for this system, else the system's. */
  private static Foreign open() {
    String name = System.getProperty("dl4.library", System.getenv("DL4_LIBRARY"));
    if (name != null) {
      // JNA takes what is not absolute for a bare name.
      return new Foreign(name.contains("/") ? Path.of(name).toAbsolutePath().toString() : name);
    }
    String machine = System.getProperty("os.arch").replace("amd64", "x86_64");
    boolean windows = System.getProperty("os.name").startsWith("Windows");
    String file = windows ? "dl4.dll" : "libdl4.so.1";
    String inside = "/natives/" + (windows ? "windows" : "linux") + "-" + machine + "/" + file;
    try (InputStream library = Library.class.getResourceAsStream(inside)) {
      return library == null ? new Foreign(file) : unpacked(library, file);
    } catch (IOException e) {
      throw new UncheckedIOException("the library in dl4.jar cannot be unpacked", e);
    }
  }

  /** Loads a library from a file of its own, which is gone afterwards, or on Windows with the process. */
  private static Foreign unpacked(InputStream library, String name) throws IOException {
    Path file = Files.createTempFile("libdl4", name);
    try {
      Files.copy(library, file, StandardCopyOption.REPLACE_EXISTING);
      return new Foreign(file.toString());
    } finally {
      try {
        Files.delete(file);
      } catch (IOException inUse) {
        file.toFile().deleteOnExit();
      }
    }
  }

  /** Makes the native methods of a class those of the library. */
  static void bind(Class<?> functions) {
    LIBRARY.bind(functions);
  }

  /** 1002003 is 1.2.3. */
  private static int number() {
    return LIBRARY.call("dl4_version");
  }

  static String version() {
    int n = number();
    return n / 1000000 + "." + n / 1000 % 1000 + "." + n % 1000;
  }
}
