#include "base/machine.hpp"

#include "base/os/processor.hpp"
#include "base/x86.hpp"

namespace dl4 {
namespace {

Machine described() {
  Machine m;
  const os::Caches caches = os::caches();
  const int64_t bytes[] = {caches.first, caches.second, caches.last};
  for (size_t i = 0; i < m.cache.size(); ++i)
    if (bytes[i] > 0) m.cache[i] = static_cast<double>(bytes[i]);
#if defined(__x86_64__)
  const x86::Extensions &e = x86::extensions();
  m.vector = e.avx512f ? 16 : e.avx2 ? 8 : 4;
  // Where loads of 64 bytes are done in two halves, so are multiply-adds; the first cache then has 32 KiB.
  if (e.avx512f && !e.intel && m.cache[0] <= 32 << 10) m.fused = 1;
#else
  m.vector = 4;
#endif
  return m;
}

}  // namespace

double Machine::line_of(double bytes) const {
  constexpr double share = 0.75;  // of a cache: what else is read takes the rest
  size_t level = 0;
  while (level < cache.size() && bytes > share * cache[level]) ++level;
  return line[level];
}

const Machine &this_machine() {
  static const Machine machine = described();
  return machine;
}

const Machine &portable_machine() {
  static const Machine machine = [] {
    Machine m;
    m.times["blocked_conv_weights"] = 4;  // results with the bits of the others are published
    return m;
  }();
  return machine;
}

}  // namespace dl4
