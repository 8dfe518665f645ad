// Counts the allocations of this process by who asked: libdl4, or the libraries it stands on.
#pragma once

#include <cstdint>

namespace bench {

struct Allocations {
  int64_t own = 0;     // asked for by code of libdl4.so
  int64_t others = 0;  // by anything else: oneDNN, OpenBLAS, libgomp, the bench itself

  Allocations operator-(const Allocations &o) const { return {own - o.own, others - o.others}; }
};

// Finds libdl4.so in memory; before it all allocations count as others'.
void watch_allocations();
Allocations allocations() noexcept;  // so far

}  // namespace bench
