#include "kinds/layers/images/draws.hpp"

#include <cmath>

namespace dl4::kinds {
namespace {

using ops::Binary;
using ops::Emit;
using ops::Id;
using ops::Unary;

// One draw for the batch where each sample has a number of its own.
Id first_of(Emit &e, Id draws) {
  return e.rank(draws) == 1 ? ops::squeeze(e, ops::slice(e, draws, 0, 0, 1), 0) : draws;
}

}  // namespace

Draws::Draws(const Call &c, const std::optional<int64_t> &seed, Id x)
    : e(c.e), key_(c.host.random_seed(seed)), x_(x), draws_(c.host.draws()), of_batch_(first_of(c.e, draws_)) {}

Draws Draws::within(ops::BodyWriter &body, Id x) {
  return {body.body, next() * 0x9E3779B97F4A7C15u, x, body.constant(draws_), body.constant(of_batch_)};
}

Id Draws::uniform(int keep, const Shape &tail) {
  return ops::random_uniform(e, next(), keep ? draws_ : of_batch_, x_, keep, tail);
}

Id Draws::each(double low, double high, const Shape &tail) {
  return low == high ? ops::fill(e, DType::f32, low, x_, 1, tail)
                     : ops::scale_shift(e, uniform(1, tail), high - low, low);
}

Id Draws::one(double low, double high, const Shape &shape) {
  return low == high ? ops::fill(e, DType::f32, low, x_, 0, shape)
                     : ops::scale_shift(e, uniform(0, shape), high - low, low);
}

Id Draws::normal() { return ops::random_normal(e, next(), draws_, x_, e.rank(x_), {}); }

Id Draws::order() { return ops::sort(e, uniform(1, {}), false).places; }

// The logarithm of gamma numbers, by Marsaglia and Tsang's method for alpha + 1 and a power of a uniform number for the
// rest. Each of the tries is accepted with a probability above 0.95, so that none is once in 10^20.
Id Draws::log_gamma(Id alpha, int keep, const Shape &tail) {
  constexpr int64_t tries = 16;
  const Shape with_tries = tail.joined({tries});
  const Id d = ops::scale_shift(e, alpha, 1, 1 - 1.0 / 3),
           c = ops::unary(e, Unary::rsqrt, ops::scale_shift(e, d, 9, 0));
  const Id draw = keep ? draws_ : of_batch_;
  const Id x = ops::random_normal(e, next(), draw, x_, keep, with_tries);
  const Id u = ops::random_uniform(e, next(), draw, x_, keep, with_tries);
  const Id root = ops::scale_shift(e, ops::mul(e, x, c), 1, 1), v = ops::mul(e, ops::mul(e, root, root), root);
  const Id positive = ops::binary(e, Binary::greater, v, e.scalar(0));
  const Id log_v = ops::unary(e, Unary::log, ops::select(e, positive, v, e.scalar(1)));
  // log u < x^2 / 2 + d - d v + d log v
  const Id bound = ops::add(e, ops::scale_shift(e, ops::mul(e, x, x), 0.5, 0),
                            ops::mul(e, d, ops::sub(e, ops::scale_shift(e, log_v, 1, 1), v)));
  const Id below = ops::binary(e, Binary::less, ops::unary(e, Unary::log, ops::scale_shift(e, u, -1, 1)), bound);
  const Id good = ops::cast(e, ops::binary(e, Binary::logical_and, positive, below), DType::f32);
  const Id chosen = ops::hardmax(e, good, -1);
  const Id log_one = ops::reduce(e, ops::Reduce::sum, ops::mul(e, chosen, log_v), {-1});
  const Id power = ops::div(e, ops::unary(e, Unary::log, ops::scale_shift(e, uniform(keep, tail), -1, 1)), alpha);
  return ops::add(e, ops::add(e, ops::unary(e, Unary::log, d), log_one), power);
}

Id Draws::beta(Id alpha, bool for_each) {
  const int keep = for_each ? 1 : 0;
  const Shape tail = for_each ? Shape{1, 1, 1} : Shape{};
  const Id a = log_gamma(alpha, keep, tail), b = log_gamma(alpha, keep, tail);
  return ops::unary(e, Unary::sigmoid, ops::sub(e, a, b));
}

Id Draws::dirichlet(double alpha, int64_t count) { return ops::softmax(e, log_gamma(e.scalar(alpha), 0, {count})); }

}  // namespace dl4::kinds
