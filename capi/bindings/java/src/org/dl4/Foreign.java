package org.dl4;

import com.sun.jna.Callback;
import com.sun.jna.CallbackReference;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A library, and the memory on its side of the border, by JNA. From JDK 22 on the class of this
 * name in src22 is taken instead; nothing else knows which of them it is.
 */
final class Foreign {
  /** A function of Java's that C calls; the interface that extends it has its one method. */
  interface Upcall extends Callback {}

  private final NativeLibrary library;

  Foreign(String file) {
    library = NativeLibrary.getInstance(file);
  }

  /** Makes the native methods of a class those of the library. */
  void bind(Class<?> functions) {
    Native.register(functions, library);
  }

  /** Calls a function without parameters that a library of any version has. */
  int call(String function) {
    return library.getFunction(function).invokeInt(new Object[0]);
  }

  /** The address at which C calls a function, for ever. */
  static long pointer(Upcall f) {
    return Pointer.nativeValue(CallbackReference.getFunctionPointer(f));
  }

  /** Where the memory of a direct buffer begins, its position left aside. */
  static long address(Buffer direct) {
    return Pointer.nativeValue(Native.getDirectBufferPointer(direct));
  }

  /** Memory at an address, which it does not keep alive, in native order. */
  static ByteBuffer memory(long address, long bytes) {
    ByteBuffer b =
        bytes == 0 ? ByteBuffer.allocateDirect(0) : new Pointer(address).getByteBuffer(0, bytes);
    return b.order(ByteOrder.nativeOrder());
  }

  /** The text at an address; null at NULL. */
  static String text(long address) {
    return address == 0 ? null : new Pointer(address).getString(0, "UTF-8");
  }

  /** 0 if there is no memory left. */
  static long allocate(long bytes) {
    return Native.malloc(bytes);
  }

  static void free(long address) {
    Native.free(address);
  }
}
