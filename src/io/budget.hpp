// The bytes that one load may take.
#pragma once

#include <cstdint>

#include "base/checked.hpp"
#include "base/error.hpp"

namespace dl4::graph {
struct Architecture;
struct Settings;
}  // namespace dl4::graph

namespace dl4::io {

// Every reader of a load counts here what it is about to allocate, before it does. What may be given back is bounded:
// so a budget bounds the time of a load too.
class Budget {
 public:
  explicit Budget(int64_t bytes) : whole_(bytes), left_(bytes) {}

  int64_t left() const { return left_; }
  // Refuses with OUT_OF_MEMORY what is past it, naming what takes the bytes.
  template <class... A>
  void take(int64_t bytes, const A &...what) {
    if (bytes > left_)
      fail(Code::out_of_memory, what..., " takes ", bytes, " bytes; loading this file may take ", whole_,
           " in all, of which ", left_, " are left, by the context's memory_limit");
    left_ -= bytes;
  }
  // What was taken is free again: a few times as much as the whole, all in all.
  void give_back(int64_t bytes);
  // Another file of the load was opened.
  void add_file(int64_t bytes);

 private:
  friend Budget budget_for(const graph::Settings &settings, int64_t file_bytes);
  int64_t whole_, left_, given_back_ = 0;
  int64_t most_ = 0;  // that it may grow to
};

// Of a file of so many bytes: the memory_limit that was asked for; by default 16 times its bytes and 256 MiB, within
// the default memory_limit.
Budget budget_for(const graph::Settings &settings, int64_t file_bytes);

// About what a layer of a graph takes, or a call of one, beside its weights.
constexpr int64_t layer_bytes = 2048;
// Of the layers and calls of an architecture, before a graph is made of it.
void take_layers(Budget &budget, const graph::Architecture &a);

}  // namespace dl4::io
