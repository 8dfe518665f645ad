// Dropout: a random mask times the value.
#include "kinds/layers/dropping.hpp"

namespace dl4::kinds {

using ops::Id;

Id keep_mask(const Call &c, double rate, const std::optional<int64_t> &seed, Id like, int keep, const Shape &tail,
             uint64_t which) {
  if (rate == 0) return ops::none;
  // Asked for in every mode, so that a layer's seed does not depend on what its graph is first used for.
  uint64_t key = c.host.random_seed(seed) + which * 0xD1B54A32D192ED03u;
  if (!c.training()) return ops::none;
  if (rate == 1) return ops::fill(c.e, DType::f32, 0, like, keep, tail);
  return ops::random_keep(c.e, rate, key, c.host.draws(), like, keep, tail);
}

Id dropped(const Call &c, Id x, double rate, const std::optional<int64_t> &seed) {
  Id mask = keep_mask(c, rate, seed, x, c.e.rank(x), {});
  return mask == ops::none ? x : ops::mul(c.e, x, mask);
}

}  // namespace dl4::kinds
