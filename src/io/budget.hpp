// A load's budget of bytes.
#pragma once

#include "base/checked.hpp"

namespace dl4::graph {
struct Architecture;
struct Settings;
}  // namespace dl4::graph

namespace dl4::io {

// Every reader accounts for its allocations here before making them. The bytes that may be returned are limited, so a
// budget bounds the time of a load too.
class Budget {
 public:
  explicit Budget(int64_t bytes) : whole_(bytes), left_(bytes) {}

  int64_t left() const { return left_; }
  // Refuses with OUT_OF_MEMORY, naming what needs the bytes, if the budget is exceeded.
  template <class... A>
  void take(int64_t bytes, const A &...what) {
    if (bytes > left_)
      fail(Code::out_of_memory, what..., " takes ", bytes, " bytes; loading this file may take ", whole_,
           " in all, of which ", left_, " are left, by the context's memory_limit");
    left_ -= bytes;
  }
  // Returns bytes. The total returned is limited to a few times the whole.
  void give_back(int64_t bytes);
  // Another file of the load was opened.
  void add_file(int64_t bytes);

 private:
  friend Budget budget_for(const graph::Settings &settings, int64_t file_bytes);
  int64_t whole_, left_, given_back_ = 0;
  int64_t most_ = 0;  // upper limit of the budget
};

// For a file of so many bytes: the explicit memory_limit, or by default 16 times the bytes plus 256 MiB, within the
// default memory_limit.
Budget budget_for(const graph::Settings &settings, int64_t file_bytes);

// Approximate size of a graph's layer, or of a call, besides its weights.
constexpr int64_t layer_bytes = 2048;
// Accounts for an architecture's layers and calls before a graph is built.
void take_layers(Budget &budget, const graph::Architecture &a);

}  // namespace dl4::io
