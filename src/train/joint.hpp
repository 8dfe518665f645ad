// What steps on parts of batches keep.
#pragma once

#include "train/batch.hpp"
#include "train/exchange.hpp"
#include "train/workers.hpp"

namespace dl4::train {

struct Joint {
  static constexpr int64_t most_shards = 1024;
  Joint(int64_t rank, int64_t size, size_t losses, Workers::Reduce reduce)
      : workers(rank, size, std::move(reduce)), exchange(std::make_shared<Exchange>(workers)), common(losses + 1) {}

  // Room for n numbers of each part; within the limit.
  void make_room(int64_t n, int64_t memory_limit);
  // Of the batch under way, of which this worker has so many rows: how it is cut, or, before the workers met, as if
  // they were all.
  void cut(int64_t rows, bool met);
  // Parts that this worker computes, and their rows in its own.
  int64_t parts() const { return workers.shards() / std::min(workers.shards(), workers.size()); }
  std::pair<int64_t, int64_t> rows(int64_t part) const;
  // Adds up what fill(part, to) gives for each of them into tree[0], as a tree.
  template <class F>
  void add_parts(int64_t n, F fill) {
    size_t depth = 0;
    for (int64_t i = 0; i < parts(); ++i) {
      fill(i, tree[depth++].as<float>());
      for (int64_t k = i + 1; k % 2 == 0; k /= 2, --depth)
        Workers::add(tree[depth - 1].as<float>(), tree[depth - 2].as<float>(), n);
    }
  }

  Workers workers;
  std::shared_ptr<Exchange> exchange;
  std::vector<Tensor> tree;                // sums of parts
  std::array<int64_t, 3> draws{};          // of the part under way: the number of the draw, its first row, its rows
  std::vector<float> common;               // the divisors of the losses, then the share of the part under way
  float each = 1;                          // 1 / the number of parts that have rows
  int64_t total = 0, mine = 0, first = 0;  // rows of the batch, of this worker, before its own
  std::optional<runtime::Executable::Ready> update;
};

}  // namespace dl4::train
