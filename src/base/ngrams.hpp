// Sequences of integers and how often each stands in a longer one.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace dl4 {

class Ngrams {
 public:
  // flat: the items of all n-grams, which have `lengths`; column i: where n-gram i is counted. most_skipped: how many
  // items may lie between two that follow each other, as many between all of an n-gram. Refuses n-grams and columns
  // that come again.
  Ngrams(std::span<const int64_t> flat, std::span<const int64_t> lengths, std::span<const int64_t> columns,
         int64_t most_skipped, int64_t width = 0);

  int64_t width() const { return width_; }
  // Adds 1 to the column of each n-gram in the row; of one item once, whatever may be skipped.
  void count(std::span<const int64_t> row, float *columns) const noexcept;
  void fields(auto &f) const { f("ngrams", ngrams_), f("most_skipped", most_skipped_), f("digest", digest_); }

 private:
  struct Edge {
    int32_t from;
    int64_t item;
    bool operator==(const Edge &) const = default;
  };
  struct Hash {
    size_t operator()(const Edge &e) const noexcept;
  };
  int64_t most_skipped_, width_ = 0, ngrams_;
  uint64_t digest_ = 0;                           // of all that is in it
  std::unordered_map<Edge, int32_t, Hash> next_;  // from node 0: beginnings of n-grams
  std::vector<int64_t> column_of_;                // by node; -1: it ends none
};

}  // namespace dl4
