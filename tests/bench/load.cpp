// The milliseconds that loading a library takes, in a process of its own that links nothing of it: dl4_load LIBRARY
#include <dlfcn.h>

#include <chrono>
#include <cstdio>

int main(int argc, char **argv) {
  auto start = std::chrono::steady_clock::now();
  if (argc != 2 || !dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) {
    std::fprintf(stderr, "dl4_load: %s\n", argc == 2 ? dlerror() : "expected a library");
    return 2;
  }
  std::printf("%.4f\n", std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  return 0;
}
