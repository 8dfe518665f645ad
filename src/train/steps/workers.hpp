// Workers that train one model together; each has a part of every batch.
// Sums over all workers within a Program's run.
#pragma once

#include "graph/lower.hpp"

namespace dl4::train {

// One worker. Workers exchange data only through sums computed by a function of the host: of float32 numbers, or of
// int32 words where each worker fills its own row and the others have zeros, so that bits are transferred unchanged.
// One thread at a time.
class Workers {
 public:
  // Sums the values in place over all workers, with the same bits on each. Returns 0 or an error code of its own.
  using Reduce = std::function<int32_t(void *values, int64_t n, DType dtype)>;
  Workers(int64_t rank, int64_t size, Reduce reduce);
  // Sets the number of parts of a batch, a power of 2; 1, the default: one per worker.
  void cut(int64_t shards);

  int64_t rank() const { return rank_; }
  int64_t size() const { return size_; }
  int64_t shards() const { return shards_; }

  // Points where workers meet. All must be at the same place with equal `same`.
  enum class Place : int32_t { none, start, loaded, step, accumulate, evaluate, data_end, epoch, fit_end };
  static constexpr int64_t most_shards = 1024;
  static constexpr size_t same_words = 4, own_words = 2, most_numbers = 16;
  enum Flag : int32_t { stop = 1, cancel = 2 };
  struct Word {
    Place place = Place::none;
    int32_t flags = 0;
    std::array<uint32_t, same_words> same{};
    std::array<int32_t, own_words> own{};
    std::span<float> numbers{};  // at most most_numbers; replaced by their sums
  };
  // Sends all words to all workers. Throws on all of them the error of a failed one, CANCELLED if one is cancelled, and
  // an error if places or `same` differ; false if one stops.
  bool meet(const Word &word);
  const Word &word(int64_t rank) const { return words_[static_cast<size_t>(rank)]; }

  // Calls f(), which meets. If it fails on this worker only, the others get its error at their next meeting. Errors of
  // meet(), share() and sum() have reached all of them already.
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

  // Copies the bytes of rank 0 to all workers; the size must be the same on each.
  void share(std::span<std::byte> bytes);

  // Sums n numbers over all workers, each of which has summed its own shards: as a tree over the shards, or with 1
  // shard as the host's function does. Allocates nothing after make_room().
  void sum(float *values, int64_t n);
  void make_room();
  // to[i] += from[i]
  static void add(const float *from, float *to, int64_t n) noexcept;

 private:
  void reduce(void *values, int64_t n, DType dtype);
  // Gathers a row from each worker; this one has written its own.
  void gather(std::span<int32_t> rows);
  // gather() for the words of meet(); refuses impossible sums.
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
  bool told_ = false;   // all workers have the current error
  bool apart_ = false;  // a reduction failed: they can't meet any more
};

// Each sum carries one more number, the count of failed workers. So all workers make the same sums, even one that fails
// or has no rows to run the Program on.
class Exchange final : public ops::Collective {
 public:
  explicit Exchange(Workers &workers) : workers_(workers) {}
  void make_room(const ops::Program &p);
  static bool is_in(const ops::Program &p);

  void begin();  // before each run
  int32_t sum(const float *from, float *to, int64_t n) override;
  // Instead of a run: takes part in the Program's sums with zeros.
  void join(const ops::Program &p);
  // After a run that failed on this worker. If no sum of the run remains, returns, and the next exchange carries the
  // failure; else throws the error that all workers fail with.
  void end(const ops::Program &p, const std::exception_ptr &failure);

 private:
  // Sums numbers_; false if a worker has failed.
  bool make(int64_t n, float failed);
  bool make_without_mine(int64_t n, float failed);

  Workers &workers_;
  std::vector<float> numbers_;
  int64_t done_ = 0;
  bool failed_ = false;        // of a worker
  std::exception_ptr broken_;  // exception of the workers' reduction
};

}  // namespace dl4::train
