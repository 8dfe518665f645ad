package org.dl4;

import java.nio.file.Path;

/** The library's file. MakeLib makes the list of its functions, Lib, from dl4-api.json. */
final class Library {
  private static final int MAJOR = 1;

  static final Foreign LIBRARY = new Foreign(file());

  static {
    if (number() / 1000000 != MAJOR) {
      throw new UnsatisfiedLinkError(
          "dl4 for Java is made for version " + MAJOR + " of the library, found " + version());
    }
  }

  private Library() {}

  private static String file() {
    String name = System.getProperty("dl4.library", System.getenv("DL4_LIBRARY"));
    if (name == null) {
      return "libdl4.so.1";
    }
    // JNA takes what is not absolute for a bare name.
    return name.contains("/") ? Path.of(name).toAbsolutePath().toString() : name;
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
