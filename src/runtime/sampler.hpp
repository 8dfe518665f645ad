// Draws ids from logits with a generator of its own. The same logits and state give the same ids on every machine: it
// uses the library's own exponential and integer sums.
#pragma once

#include <span>
#include <vector>

#include "base/tensor.hpp"

namespace dl4::runtime {

struct Sampling {
  double temperature = 1;  // 0: the likeliest id
  int64_t top_k = 0;       // 0: no limit
  double top_p = 1;
  std::vector<int64_t> stop;
  bool from_logits = true;  // false: probabilities
};

class Sampler {
 public:
  Sampler(int64_t rows, int64_t seed);
  Sampler fork() const;
  void seed(int64_t seed);  // restarts all rows
  void reset();
  void reset(int64_t row);
  // int64 [rows, 3]: for each row its seed, the number of ids drawn, and the id that ended it, or -1.
  const Tensor &state() const { return state_; }
  // Draws an id for each row of logits [rows, n]; a row that has ended repeats its last id. After an error nothing has
  // changed.
  void draw(std::span<const float> logits, const Sampling &how, std::span<int64_t> ids);

 private:
  struct Row {
    int64_t seed, drawn, ended;
  };
  std::span<Row> rows() const { return {reinterpret_cast<Row *>(state_.data.get()), static_cast<size_t>(count_)}; }
  struct Candidate {
    double logit;
    int64_t id;
    uint64_t weight;
  };
  int64_t draw_row(size_t row, std::span<const float> logits, const Sampling &how);
  void keep_top_p(uint64_t &total, const Sampling &how);

  int64_t count_;
  Tensor state_;
  std::vector<Candidate> candidates_;
  std::vector<int64_t> drawn_;  // by the current call
};

}  // namespace dl4::runtime
