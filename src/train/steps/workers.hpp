// Workers that train one model together: each has a part of every batch.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/tensor.hpp"

namespace dl4::train {

// One of them. What they exchange they sum, by a function of the host's: float32 numbers, or int32, by which bits
// travel whole, each worker's in a place where all others have 0. One thread at a time, the caller's.
class Workers {
 public:
  // Sums the values in place over all workers, to the same bits on each; gives 0, or what went wrong.
  using Reduce = std::function<int32_t(void *values, int64_t n, DType dtype)>;
  Workers(int64_t rank, int64_t size, Reduce reduce);
  // Parts that a batch is cut into from now on, a power of two; 1, as it is made: as many as there are workers.
  void cut(int64_t shards);

  int64_t rank() const { return rank_; }
  int64_t size() const { return size_; }
  int64_t shards() const { return shards_; }

  // Where they come together. At the same number each has the same words, or all refuse.
  enum class Place : int32_t { none, start, loaded, step, accumulate, evaluate, data_end, epoch, fit_end };
  static constexpr int64_t most_shards = 1024;
  static constexpr size_t same_words = 4, own_words = 2, most_numbers = 16;
  enum Flag : int32_t { stop = 1, cancel = 2 };
  struct Word {
    Place place = Place::none;
    int32_t flags = 0;
    std::array<uint32_t, same_words> same{};
    std::array<int32_t, own_words> own{};
    std::span<float> numbers{};  // at most most_numbers; become their sums
  };
  // Tells all workers' words to all. Throws on all of them what one failed with, CANCELLED where one was, and where
  // they are at different places or not the same; false if one wants to stop.
  bool meet(const Word &word);
  const Word &word(int64_t rank) const { return words_[static_cast<size_t>(rank)]; }

  // f(), from which all workers come back, or none: where it fails on this one alone the others are told when they
  // meet. It fails on all where it throws what meet(), share() or sum() threw.
  template <class F>
  decltype(auto) jointly(F f) {
    struct Depth {
      int &depth;
      ~Depth() { --depth; }
    };
    if (depth_ == 0) told_ = false;
    ++depth_;
    Depth depth{depth_};
    try {
      return f();
    } catch (const std::exception &e) {
      if (depth_ == 1 && !told_) tell(e);
      throw;
    }
  }

  // The bytes of rank 0, on all of them; `bytes` has their number on each.
  void share(std::span<std::byte> bytes);

  // Sums n numbers over all workers and the shards, of which each has added up its own: as a tree whose leaves are the
  // shards, or with 1 shard as the host's function does. Allocates nothing if there is room().
  void sum(float *values, int64_t n);
  void make_room();
  // to[i] += from[i]
  static void add(const float *from, float *to, int64_t n) noexcept;

 private:
  void reduce(void *values, int64_t n, DType dtype);
  // A row from each worker, of which this one has put its own in place.
  void gather(std::span<int32_t> rows);
  // gather() of what is said when they meet, refused if it is not what workers say.
  void gather_words();
  void tell(const std::exception &e);
  std::string message(int64_t from, const char *mine);
  void compare();
  void sum_exactly(float *values, int64_t n);

  const int64_t rank_, size_;
  int64_t shards_ = 1;
  const Reduce reduce_;
  std::vector<int32_t> rows_, message_;
  std::vector<Word> words_;
  Tensor slots_;
  int depth_ = 0;
  bool told_ = false;  // that all workers fail
  bool apart_ = false;
};

}  // namespace dl4::train
