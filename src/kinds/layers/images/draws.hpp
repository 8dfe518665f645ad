// Random numbers of a call of an image layer.
#pragma once

#include <optional>

#include "kinds/layer.hpp"
#include "ops/body.hpp"

namespace dl4::kinds {

class Draws {
 public:
  // x: images; the first axis is the samples, so that parts of a batch draw what the whole would.
  Draws(const Call &c, const std::optional<int64_t> &seed, ops::Id x);

  ops::Emit &e;
  // In [low, high) for each image, (B, tail).
  ops::Id each(double low, double high, const Shape &tail = {1, 1, 1});
  // One number of the batch, a scalar or (count).
  ops::Id one(double low, double high, const Shape &shape = {});
  // Standard normal, shaped as x.
  ops::Id normal();
  // A permutation of the samples: int32 (B).
  ops::Id order();
  // Of the beta distribution with both parameters alpha, a float32 scalar: (B, 1, 1, 1), or for the batch a scalar.
  ops::Id beta(ops::Id alpha, bool for_each);
  // Of the Dirichlet distribution of `count` equal parameters alpha: (count).
  ops::Id dirichlet(double alpha, int64_t count);
  // Of their own, inside a body where the images are x.
  Draws within(ops::BodyWriter &body, ops::Id x);

 private:
  Draws(ops::Emit &e, uint64_t key, ops::Id x, ops::Id draws, ops::Id of_batch)
      : e(e), key_(key), x_(x), draws_(draws), of_batch_(of_batch) {}
  uint64_t next() { return key_ + ++count_ * 0xD1B54A32D192ED03u; }
  ops::Id uniform(int keep, const Shape &tail);
  ops::Id log_gamma(ops::Id alpha, int keep, const Shape &tail);

  const uint64_t key_;
  const ops::Id x_, draws_, of_batch_;
  uint64_t count_ = 0;
};

}  // namespace dl4::kinds
