package org.dl4;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as maps, lists, strings, Long, Double, Boolean and null. */
final class Json {
  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  static Object read(String text) {
    Json j = new Json(text);
    Object value = j.value();
    j.space();
    if (j.at < text.length()) {
      throw j.wrong("the end");
    }
    return value;
  }

  @SuppressWarnings("unchecked")
  static Map<String, Object> object(Object value) {
    return (Map<String, Object>) value;
  }

  @SuppressWarnings("unchecked")
  static <T> List<T> list(Object value) {
    return (List<T>) value;
  }

  private IllegalArgumentException wrong(String expected) {
    return new IllegalArgumentException("JSON: expected " + expected + " at " + at + " of " + text);
  }

  private void space() {
    while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private boolean take(char c) {
    space();
    if (at == text.length() || text.charAt(at) != c) {
      return false;
    }
    at++;
    return true;
  }

  private void need(char c) {
    if (!take(c)) {
      throw wrong("'" + c + "'");
    }
  }

  private Object value() {
    if (take('{')) {
      return members();
    }
    if (take('[')) {
      return elements();
    }
    if (take('"')) {
      return string();
    }
    for (String word : new String[] {"true", "false", "null"}) {
      if (text.startsWith(word, at)) {
        at += word.length();
        return word.equals("null") ? null : Boolean.valueOf(word);
      }
    }
    return number();
  }

  private Map<String, Object> members() {
    Map<String, Object> all = new LinkedHashMap<>();
    if (take('}')) {
      return all;
    }
    do {
      need('"');
      String key = string();
      need(':');
      all.put(key, value());
    } while (take(','));
    need('}');
    return all;
  }

  private List<Object> elements() {
    List<Object> all = new ArrayList<>();
    if (take(']')) {
      return all;
    }
    do {
      all.add(value());
    } while (take(','));
    need(']');
    return all;
  }

  private String string() {
    StringBuilder out = new StringBuilder();
    while (at < text.length()) {
      char c = text.charAt(at++);
      if (c == '"') {
        return out.toString();
      }
      out.append(c == '\\' ? escaped() : c);
    }
    throw wrong("the end of a string");
  }

  private char escaped() {
    char c = text.charAt(at++);
    int known = "bfnrt".indexOf(c);
    if (c == 'u') {
      at += 4;
      return (char) Integer.parseInt(text.substring(at - 4, at), 16);
    }
    return known < 0 ? c : "\b\f\n\r\t".charAt(known);
  }

  private Object number() {
    int begin = at;
    while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
    String digits = text.substring(begin, at);
    if (digits.isEmpty()) {
      throw wrong("a value");
    }
    try {
      return Long.valueOf(digits);
    } catch (NumberFormatException e) {
      return Double.valueOf(digits);
    }
  }

  static String write(Object value) {
    StringBuilder out = new StringBuilder();
    write(out, value);
    return out.toString();
  }

  private static void write(StringBuilder out, Object value) {
    if (value == null || value instanceof Boolean) {
      out.append(value);
    } else if (value instanceof Number n) {
      if (!Double.isFinite(n.doubleValue())) {
        throw Dl4Exception.invalid("expected a finite number, got " + n);
      }
      out.append(n);
    } else if (value instanceof CharSequence s) {
      quote(out, s);
    } else if (value instanceof Map<?, ?> m) {
      String before = "{";
      for (Map.Entry<?, ?> e : m.entrySet()) {
        quote(out.append(before), String.valueOf(e.getKey()));
        write(out.append(':'), e.getValue());
        before = ",";
      }
      out.append(m.isEmpty() ? "{}" : "}");
    } else if (value instanceof Iterable<?> l) {
      String before = "[";
      for (Object v : l) {
        write(out.append(before), v);
        before = ",";
      }
      out.append(before.equals("[") ? "[]" : "]");
    } else if (value.getClass().isArray()) {
      List<Object> all = new ArrayList<>();
      for (int i = 0; i < Array.getLength(value); i++) {
        all.add(Array.get(value, i));
      }
      write(out, all);
    } else {
      throw Dl4Exception.invalid(
          "expected numbers, strings, booleans, lists and maps, got " + value.getClass());
    }
  }

  private static void quote(StringBuilder out, CharSequence s) {
    out.append('"');
    for (int i = 0; i < s.length(); i++) {
      char c = s.charAt(i);
      if (c < ' ') {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c == '"' || c == '\\' ? "\\" : "").append(c);
      }
    }
    out.append('"');
  }
}
