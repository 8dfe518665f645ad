import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/**
 * Writes Lib.java again, to the standard output, with its native methods as calls by
 * java.lang.foreign: java MakeLib.java src/org/dl4/Lib.java.
 */
final class MakeLib {
  private static final Pattern NATIVE =
      Pattern.compile("static native (\\w+) (\\w+)\\(([^)]*)\\);");

  /** The function's handle is in a class of its own, so that it is made by the first call. */
  private static String method(MatchResult m) {
    String returns = m.group(1);
    String name = m.group(2);
    String parameters = m.group(3).strip();
    String types = parameters.replaceAll("(\\w+) \\w+", "$1.class");
    String call = "H" + name + ".F.invokeExact(" + parameters.replaceAll("\\w+ (\\w+)", "$1") + ")";
    return """
           private static final class H%2$s {
               static final java.lang.invoke.MethodHandle F =
                   LIBRARY.function("%2$s", %1$s.class%4$s);
             }

             static %1$s %2$s(%3$s) {
               try {
                 %5$s;
               } catch (Throwable thrown) {
                 throw Foreign.<RuntimeException>thrown(thrown);
               }
             }\
           """
        .formatted(
            returns,
            name,
            parameters,
            types.isEmpty() ? "" : ", " + types,
            returns.equals("void") ? call : "return (" + returns + ") " + call);
  }

  public static void main(String[] args) throws Exception {
    String lib = Files.readString(Path.of(args[0]));
    System.out.print(NATIVE.matcher(lib).replaceAll(MakeLib::method));
  }
}
