// Dropout: multiplication by a random mask.
#include "kinds/layers/random/dropping.hpp"

namespace dl4::kinds {

using ops::Id;

void noise_shape_field(Fields &f, std::optional<NoiseShape> &place) {
  f("noise_shape", place)
      .at_least(1)
      .at_most(max_dim)
      .doc("shape of the random mask, batch included: null = as the input, 1 = one draw for the whole axis");
}
void seed_field(Fields &f, std::optional<int64_t> &place) {
  f("seed", place).doc("seed of its own; null = from the context's");
}

Id keep_mask(const Call &c, double rate, const std::optional<int64_t> &seed, Id like, int keep, const Shape &tail,
             uint64_t which, bool by_row) {
  if (rate == 0) return ops::none;
  // Requested in every mode, so that a layer's seed does not depend on how its graph is first used.
  uint64_t key = c.host.random_seed(seed) + which * 0xD1B54A32D192ED03u;
  if (!c.training()) return ops::none;
  if (rate == 1) return ops::fill(c.e, DType::f32, 0, like, keep, tail);
  Id draws = c.host.draws();
  if (!by_row && c.e.rank(draws) == 1) draws = ops::squeeze(c.e, ops::slice(c.e, draws, 0, 0, 1), 0);
  return ops::random_keep(c.e, rate, key, draws, like, keep, tail);
}

Id keep_mask(const Call &c, double rate, const std::optional<int64_t> &seed,
             const std::optional<NoiseShape> &noise_shape) {
  const Shape s = c.shape();
  Id like = c.x();
  if (!noise_shape) return keep_mask(c, rate, seed, like, s.rank(), {});
  if (noise_shape->size() != static_cast<size_t>(s.rank()))
    fail(Code::shape_mismatch, "\"noise_shape\": expected ", s.rank(), " dims as the input has, got ",
         noise_shape->size());
  Shape shape = s;
  for (int i = 0; i < s.rank(); ++i) {
    int64_t dim = (*noise_shape)[static_cast<size_t>(i)].value_or(s[i]);
    if (dim != 1 && s[i] != free_dim && dim != s[i])
      fail(Code::shape_mismatch, "\"noise_shape\": expected null, 1 or ", s[i], " for axis ", i, ", got ", dim);
    shape = shape.with(i, dim);
  }
  int first = 0;
  while (first < s.rank() && shape[first] == s[first]) ++first;
  Shape tail = shape.last(s.rank() - first);
  if (tail.known()) return keep_mask(c, rate, seed, like, first, tail);
  // A free axis after a shared one: a value of that shape provides its size.
  for (int i = first; i < s.rank(); ++i)
    if (shape[i] == 1 && s[i] != 1) like = ops::slice(c.e, like, i, 0, 1);
  return keep_mask(c, rate, seed, like, s.rank(), {}, 0, shape[0] == s[0]);
}

Id dropped(const Call &c, Id x, double rate, const std::optional<int64_t> &seed) {
  Id mask = keep_mask(c, rate, seed, x, c.e.rank(x), {});
  return mask == ops::none ? x : ops::mul(c.e, x, mask);
}

}  // namespace dl4::kinds
