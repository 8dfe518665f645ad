package org.dl4;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Map;

/** The class of this name in src, by java.lang.foreign; MakeLib makes the Lib that goes with it. */
final class Foreign {
  /** A function of Java's that C calls; the interface that extends it has its one method. */
  interface Upcall {}

  private static final Linker LINKER = Linker.nativeLinker();
  private static final Map<Class<?>, MemoryLayout> LAYOUTS =
      Map.of(
          int.class, ValueLayout.JAVA_INT,
          long.class, ValueLayout.JAVA_LONG,
          double.class, ValueLayout.JAVA_DOUBLE);
  private static final MethodHandle MALLOC = libc("malloc", long.class, long.class);
  private static final MethodHandle FREE = libc("free", void.class, long.class);

  private final SymbolLookup library;

  Foreign(String file) {
    try {
      library = SymbolLookup.libraryLookup(file, Arena.global());
    } catch (IllegalArgumentException e) {
      throw new UnsatisfiedLinkError(e.getMessage());
    }
  }

  /** Nothing: the functions of a class made by MakeLib are found when they are first called. */
  void bind(Class<?> functions) {}

  /** A function of the library; pointers are longs, which 64-bit systems pass alike. */
  MethodHandle function(String name, Class<?> returns, Class<?>... parameters) {
    return function(library, name, MethodType.methodType(returns, parameters));
  }

  /** Calls a function without parameters that a library of any version has. */
  int call(String name) {
    try {
      return (int) function(name, int.class).invokeExact();
    } catch (Throwable thrown) {
      throw Foreign.<RuntimeException>thrown(thrown);
    }
  }

  private static MethodHandle libc(String name, Class<?> returns, Class<?>... parameters) {
    return function(LINKER.defaultLookup(), name, MethodType.methodType(returns, parameters));
  }

  private static MethodHandle function(SymbolLookup library, String name, MethodType type) {
    MemorySegment f =
        library.find(name).orElseThrow(() -> new UnsatisfiedLinkError("there is no " + name));
    return LINKER.downcallHandle(f, descriptor(type));
  }

  private static FunctionDescriptor descriptor(MethodType type) {
    MemoryLayout[] parameters =
        type.parameterList().stream().map(LAYOUTS::get).toArray(MemoryLayout[]::new);
    return type.returnType() == void.class
        ? FunctionDescriptor.ofVoid(parameters)
        : FunctionDescriptor.of(LAYOUTS.get(type.returnType()), parameters);
  }

  /** What a call threw, as it is: an error of Java's own, as C throws nothing. */
  @SuppressWarnings("unchecked")
  static <T extends Throwable> RuntimeException thrown(Throwable t) throws T {
    throw (T) t;
  }

  /** The address at which C calls a function, for ever. */
  static long pointer(Upcall f) {
    try {
      Method method =
          Arrays.stream(f.getClass().getInterfaces()[0].getDeclaredMethods())
              .filter(m -> Modifier.isAbstract(m.getModifiers()))
              .findAny()
              .orElseThrow();
      MethodHandle handle = MethodHandles.lookup().unreflect(method).bindTo(f);
      MethodType type = handle.type();
      // What passes a function's own handler, as where no stack is left, would end the process.
      MethodHandle failed =
          type.returnType() == void.class
              ? MethodHandles.empty(MethodType.methodType(void.class))
              : MethodHandles.constant(int.class, -1);
      handle =
          MethodHandles.catchException(
              handle, Throwable.class, MethodHandles.dropArguments(failed, 0, Throwable.class));
      return LINKER.upcallStub(handle, descriptor(type), Arena.global()).address();
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Where the memory of a direct buffer begins, its position left aside. */
  static long address(Buffer direct) {
    return MemorySegment.ofBuffer(direct.duplicate().clear()).address();
  }

  /** Memory at an address, which it does not keep alive, in native order. */
  static ByteBuffer memory(long address, long bytes) {
    ByteBuffer b =
        bytes == 0
            ? ByteBuffer.allocateDirect(0)
            : MemorySegment.ofAddress(address).reinterpret(bytes).asByteBuffer();
    return b.order(ByteOrder.nativeOrder());
  }

  /** The text at an address; null at NULL. */
  static String text(long address) {
    return address == 0
        ? null
        : MemorySegment.ofAddress(address).reinterpret(Long.MAX_VALUE).getString(0);
  }

  /** 0 if there is no memory left. */
  static long allocate(long bytes) {
    try {
      return (long) MALLOC.invokeExact(bytes);
    } catch (Throwable t) {
      throw Foreign.<RuntimeException>thrown(t);
    }
  }

  static void free(long address) {
    try {
      FREE.invokeExact(address);
    } catch (Throwable t) {
      throw Foreign.<RuntimeException>thrown(t);
    }
  }
}
