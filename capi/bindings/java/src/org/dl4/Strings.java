package org.dl4;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** UTF-8 of strings, and back, where nothing is replaced. */
final class Strings {
  private Strings() {}

  static byte[] encode(String s, int i) {
    if (s == null) {
      throw Dl4Exception.invalid("string " + i + ": expected text, got null");
    }
    try {
      ByteBuffer b = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(s));
      byte[] out = new byte[b.remaining()];
      b.get(out);
      return out;
    } catch (CharacterCodingException e) {
      throw Dl4Exception.invalid("string " + i + ": expected text, got half a character");
    }
  }

  static String decode(byte[] utf8, int i) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(utf8)).toString();
    } catch (CharacterCodingException e) {
      String message = "dl4: string " + i + " is not UTF-8: toByteArrays() gives its bytes";
      throw new Dl4Exception(Code.INVALID_ARGUMENT, message, Map.of("expected", "UTF-8"));
    }
  }

  /** One array of all bytes. */
  static byte[] joined(byte[][] parts) {
    long bytes = 0;
    for (int i = 0; i < parts.length; i++) {
      if (parts[i] == null) {
        throw Dl4Exception.invalid("string " + i + ": expected bytes, got null");
      }
      bytes += parts[i].length;
    }
    if (bytes > Integer.MAX_VALUE - 8) {
      throw Dl4Exception.invalid("expected at most 2 GiB of strings, got " + bytes + " bytes");
    }
    ByteBuffer all = ByteBuffer.allocate((int) bytes);
    for (byte[] part : parts) {
      all.put(part);
    }
    return all.array();
  }
}
