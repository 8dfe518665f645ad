// The few numbers of a machine from which the costs of kernels follow: what it says of itself, or what was measured on
// it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace dl4 {

struct Machine {
  // Cycles a second by 1e9: no machine says what it keeps up under load. It scales all costs alike.
  double gigahertz = 3.5;
  double vector = 16;  // floats
  double fused = 2;    // multiply-adds of vectors in a cycle
  // Bytes of the data caches of a core, and of the last one, which cores may share.
  std::array<double, 3> cache{32 << 10, 1 << 20, 32 << 20};
  // Cycles to move 64 bytes from each of them, and from memory.
  std::array<double, 4> line{0.06, 0.5, 1.3, 5};
  // By kernel: how many times as long as computed it takes, where that was measured.
  std::map<std::string, double, std::less<>> times;

  double peak() const { return vector * fused; }  // multiply-adds in a cycle
  // Of 64 bytes that are read repeatedly, with so many others between.
  double line_of(double bytes) const;
  // The same for `bytes` among so many.
  double moved(double bytes, double among) const { return bytes / 64 * line_of(among); }
  double microseconds(double cycles) const { return cycles / (gigahertz * 1e3); }
};

// As the processor and the system describe this one; the same in every run.
const Machine &this_machine();
// One that all results with portable bits are chosen for.
const Machine &portable_machine();

}  // namespace dl4
