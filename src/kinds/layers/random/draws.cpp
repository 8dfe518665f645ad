// RandomNormal and RandomUniform: new random numbers in each run, in training and inference.
#include "base/error.hpp"
#include "kinds/layers/random/dropping.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

// Shared by both.
struct Drawn : LayerOf<Drawn> {
  int64_t axes = 1;
  std::vector<int64_t> dims;
  std::optional<int64_t> seed;

  void fields(Fields &f) override {
    f("shape", dims).required("[2, 3]").at_least(0).at_most(max_dim).doc("the axes behind those of the input");
    f("axes", axes).at_least(0).at_most(max_rank).doc("how many first axes of the input, if there is one, come before");
    seed_field(f, seed);
  }
  static constexpr PlainFacts plain{.inputs = {{"like", "(B, ...), of which the shape alone is read, or none"}},
                                    .outputs = {{"y", "(B, shape)"}}};
  Arity arity() const override { return {0, 1}; }

  // draw(e, key, draws, like, keep, tail).
  template <class F>
  Id drawn(Call &c, F draw) const {
    const Id like = c.in.empty() ? c.e.scalar(0) : c.x();
    const int keep = c.in.empty() ? 0 : static_cast<int>(axes);
    if (keep > c.e.rank(like))
      fail(Code::shape_mismatch, "\"axes\": expected at most ", c.e.rank(like), " as the input has, got ", keep);
    Shape tail;
    if (keep + std::ssize(dims) > max_rank)
      fail(Code::shape_mismatch, "\"shape\": expected at most ", max_rank, " axes with those of the input");
    for (int64_t d : dims) tail = tail.inserted(tail.rank(), d);
    const uint64_t key = c.host.random_seed(seed);
    Id draws = c.host.draws();
    if (keep == 0 && c.e.rank(draws) == 1) draws = ops::squeeze(c.e, ops::slice(c.e, draws, 0, 0, 1), 0);
    return draw(c.e, key, draws, like, keep, tail);
  }
};

struct RandomNormalLayer : Drawn {
  static constexpr const char *name = "RandomNormal";
  static constexpr const char *doc = "Normal numbers, drawn anew in each run: keras.random.normal.";
  double mean = 0, stddev = 1;

  void fields(Fields &f) override {
    Drawn::fields(f);
    f("mean", mean).doc("their mean");
    f("stddev", stddev).at_least(0).doc("their standard deviation");
  }
  std::vector<Symbol> call(Call &c) const override {
    return {{ops::scale_shift(c.e, drawn(c, ops::random_normal), stddev, mean)}};
  }
};

struct RandomUniformLayer : Drawn {
  static constexpr const char *name = "RandomUniform";
  static constexpr const char *doc = "Numbers from minval to maxval, drawn anew in each run: keras.random.uniform.";
  double least = 0, most = 1;

  void fields(Fields &f) override {
    Drawn::fields(f);
    f("minval", least).doc("the least");
    f("maxval", most).doc("what all are below");
  }
  std::vector<Symbol> call(Call &c) const override {
    return {{ops::scale_shift(c.e, drawn(c, ops::random_uniform), most - least, least)}};
  }
};

}  // namespace
DL4_KINDS(random_draws, RandomNormalLayer, RandomUniformLayer)
}  // namespace dl4::kinds
