import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Writes Lib.java, to the standard output: the functions of the C interface, as native methods or,
 * with "foreign", as calls by java.lang.foreign. java MakeLib.java dl4-api.json [foreign]
 */
final class MakeLib {
  private static final Map<String, String> TYPES =
      Map.of("int32_t", "int", "dl4_node", "int", "dl4_layer", "int", "double", "double");

  private static final Pattern FUNCTION =
      Pattern.compile("\\{\"name\": \"(\\w+)\", \"returns\": \"([^\"]+)\"");
  private static final Pattern PARAMETER =
      Pattern.compile("\\{\"name\": \"(\\w+)\", \"type\": \"([^\"]+)\"");

  /** Every pointer is a long. */
  private static String type(String c) {
    return c.equals("void") ? c : TYPES.getOrDefault(c, "long");
  }

  /** The function's handle is in a class of its own, so that it is made by the first call. */
  private static String foreign(
      String returns, String name, List<String> types, List<String> names, String parameters) {
    StringBuilder classes = new StringBuilder();
    types.forEach(t -> classes.append(", ").append(t).append(".class"));
    String call = "H" + name + ".F.invokeExact(" + String.join(", ", names) + ")";
    return """
             private static final class H%2$s {
               static final java.lang.invoke.MethodHandle F =
                   Library.LIBRARY.function("%2$s", %1$s.class%4$s);
             }

             static %1$s %2$s(%3$s) {
               try {
                 %5$s;
               } catch (Throwable thrown) {
                 throw Foreign.<RuntimeException>thrown(thrown);
               }
             }
           """
        .formatted(
            returns,
            name,
            parameters,
            classes,
            returns.equals("void") ? call : "return (" + returns + ") " + call);
  }

  private static String method(String line, boolean foreign) {
    Matcher f = FUNCTION.matcher(line);
    if (!f.find()) {
      throw new IllegalArgumentException("not a function: " + line);
    }
    List<String> types = new ArrayList<>();
    List<String> names = new ArrayList<>();
    List<String> parameters = new ArrayList<>();
    for (Matcher p = PARAMETER.matcher(line); p.find(); ) {
      types.add(type(p.group(2)));
      names.add(p.group(1));
      parameters.add(type(p.group(2)) + " " + p.group(1));
    }
    String returns = type(f.group(2));
    String all = String.join(", ", parameters);
    return foreign
        ? foreign(returns, f.group(1), types, names, all)
        : "  static native " + returns + " " + f.group(1) + "(" + all + ");\n";
  }

  /** The description has a line for each function. */
  public static void main(String[] args) throws Exception {
    boolean foreign = args.length > 1;
    List<String> lines = Files.readAllLines(Path.of(args[0]));
    System.out.println("package org.dl4;\n");
    System.out.println("/** The functions of dl4.h. Every pointer is a long. */");
    System.out.println("final class Lib {");
    if (!foreign) {
      System.out.println("  static {\n    Library.bind(Lib.class);\n  }\n");
    }
    System.out.println("  private Lib() {}");
    for (String line : lines.subList(lines.indexOf(" \"functions\": [") + 1, lines.size())) {
      if (line.startsWith("  {")) {
        System.out.print("\n" + method(line, foreign));
      }
    }
    System.out.println("}");
  }
}
