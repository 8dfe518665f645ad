package org.dl4;

import java.util.HashMap;
import java.util.Map;

/** What the library refused. The facts are null where the message does not have them. */
public final class Dl4Exception extends RuntimeException {
  private static final long serialVersionUID = 1;
  private final Code code;
  private final HashMap<String, String> facts = new HashMap<>();

  Dl4Exception(Code code, String message, Map<String, ?> facts) {
    super(message);
    this.code = code;
    facts.forEach((key, value) -> this.facts.put(key, String.valueOf(value)));
  }

  static Dl4Exception invalid(String message) {
    return new Dl4Exception(Code.INVALID_ARGUMENT, "dl4: " + message, Map.of());
  }

  /** Makes an exception of one of the library's errors, which it releases. */
  static Dl4Exception taken(long error) {
    try {
      return new Dl4Exception(
          Code.of(Lib.dl4_error_code(error)),
          Foreign.text(Lib.dl4_error_message(error)),
          Json.object(Json.read(Foreign.text(Lib.dl4_error_detail(error)))));
    } finally {
      Lib.dl4_release(error);
    }
  }

  public Code code() {
    return code;
  }

  /** The layer that refused. */
  public String layer() {
    return fact("layer");
  }

  /** The key of the attribute or option. */
  public String attribute() {
    return fact("attribute");
  }

  /** The parameter of the C function. */
  public String argument() {
    return fact("argument");
  }

  public String expected() {
    return fact("expected");
  }

  public String got() {
    return fact("got");
  }

  public String didYouMean() {
    return fact("did_you_mean");
  }

  String fact(String name) {
    return facts.get(name);
  }
}
