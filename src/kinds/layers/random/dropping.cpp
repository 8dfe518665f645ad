// Random masks and numbers: dropout of single values and of whole maps, noise, and numbers drawn anew in each run.
#include "kinds/layers/random/dropping.hpp"

#include <cmath>

namespace dl4::kinds {
namespace {

using ops::Id;

struct Dropout : LayerOf<Dropout> {
  static constexpr const char *doc =
      "In training, sets values to 0 with probability rate and scales the others by 1 / (1 - rate).";
  double rate = 0;
  std::optional<NoiseShape> noise_shape;
  std::optional<int64_t> seed;

  void fields(Fields &f) override {
    f("rate", rate, "the fraction to drop").required("0.3").within(0, 1);
    noise_shape_field(f, noise_shape);
    seed_field(f, seed);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    ops::Id keep = keep_mask(c, rate, seed, noise_shape);
    return {{keep == ops::none ? c.x() : ops::mul(c.e, c.x(), keep), c.mask()}};
  }
};

struct SpatialDropout final : Layer {
  struct Row : Entry {
    int axes;
    const char *shape;
  };
  enum class Order { channels_last, channels_first };

  explicit SpatialDropout(const Row &row) : row(row) {}
  const Row &row;
  double rate = 0;
  Order order = Order::channels_last;
  std::optional<int64_t> seed;

  void fields(Fields &f) override {
    f("rate", rate, "the fraction of channels to drop").required("0.3").within(0, 1);
    if (row.axes > 1)
      f("data_format", order, {"channels_last", "channels_first"},
        "which axis is that of the channels: the last one, or the one behind the batch")
          .null_means(Order::channels_last);
    seed_field(f, seed);
  }
  Facts facts() const override {
    return PlainFacts{.inputs = {{"x", row.shape}}, .outputs = {{"y", row.shape}}, .mask = "passed on"};
  }
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, row.axes + 2);
    c.need_float(0);
    NoiseShape shape(static_cast<size_t>(row.axes) + 2, 1);
    shape[0] = shape[order == Order::channels_first ? 1 : shape.size() - 1] = std::nullopt;
    const ops::Id keep = keep_mask(c, rate, seed, shape);
    return {{keep == ops::none ? c.x() : ops::mul(c.e, c.x(), keep), c.mask()}};
  }
};

constexpr SpatialDropout::Row row(const char *name, const char *doc, int axes, const char *shape) {
  return {row_of<SpatialDropout>(name, doc), axes, shape};
}

constexpr SpatialDropout::Row dropouts[] = {
    row("SpatialDropout1D",
        "In training, sets whole channels of an item to 0 with probability rate, at all steps, and scales the "
        "others by 1 / (1 - rate).",
        1, "(B, T, C)"),
    row("SpatialDropout2D",
        "In training, sets whole channels of an item to 0 with probability rate, in all of the image, and scales "
        "the others by 1 / (1 - rate).",
        2, "(B, H, W, C)"),
    row("SpatialDropout3D",
        "In training, sets whole channels of an item to 0 with probability rate, in all of the volume, and scales "
        "the others by 1 / (1 - rate).",
        3, "(B, D, H, W, C)"),
};

struct Noise : LayerOf<Noise> {
  std::optional<int64_t> seed;

  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
};

void need_below_1(double rate) {
  if (rate == 1) unsupported_attribute("rate", "expected less than 1, got 1: training divides by 1 - rate");
}

// Normal random numbers shaped as the input; none if not needed.
Id normals(Call &c, bool drawn, const std::optional<int64_t> &seed) {
  if (!drawn) return ops::none;
  // Requested in every mode, so that a layer's seed does not depend on how its graph is first used.
  const uint64_t key = c.host.random_seed(seed);
  return c.training() ? random_normal(c.e, key, c.host.draws(), c.x(), c.e.rank(c.x()), {}) : ops::none;
}

struct GaussianNoise : Noise {
  static constexpr const char *doc = "In training, adds normal noise of mean 0.";
  double stddev = 0;

  void fields(Fields &f) override {
    f("stddev", stddev, "the noise's standard deviation").required("0.3").within(0, 1);
    seed_field(f, seed);
  }
  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    const Id noise = normals(c, stddev > 0, seed);
    return {{noise == ops::none ? c.x() : add(c.e, c.x(), scale(c.e, noise, static_cast<float>(stddev))), c.mask()}};
  }
};

struct GaussianDropout : Noise {
  static constexpr const char *doc =
      "In training, multiplies by normal noise of mean 1 and standard deviation sqrt(rate / (1 - rate)).";
  double rate = 0;

  void fields(Fields &f) override {
    f("rate", rate, "as strong as a dropout of that rate; 1 is not supported").required("0.3").within(0, 1);
    seed_field(f, seed);
  }
  void check() override { need_below_1(rate); }
  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    const Id noise = normals(c, rate > 0, seed);
    if (noise == ops::none) return {{c.x(), c.mask()}};
    return {{mul(c.e, c.x(), scale_shift(c.e, noise, std::sqrt(rate / (1 - rate)), 1)), c.mask()}};
  }
};

struct AlphaDropout : Noise {
  static constexpr const char *doc =
      "In training, sets values to SELU's negative limit with probability rate, then scales and shifts all of them so "
      "that a mean of 0 and a variance of 1 stay.";
  double rate = 0;
  std::optional<NoiseShape> noise_shape;

  void fields(Fields &f) override {
    f("rate", rate, "the fraction to drop; 1 is not supported").required("0.3").within(0, 1);
    noise_shape_field(f, noise_shape);
    seed_field(f, seed);
  }
  void check() override { need_below_1(rate); }
  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    ops::Emit &e = c.e;
    const Id keep = keep_mask(c, rate, seed, noise_shape);
    if (keep == ops::none) return {{c.x(), c.mask()}};
    constexpr double limit = -1.6732632423543772 * 1.0507009873554805;
    const double a = 1 / std::sqrt((1 - rate) * (1 + rate * limit * limit)), b = -a * limit * rate;
    Id kept = select(e, binary(e, ops::Binary::greater, keep, e.scalar(0)), c.x(), e.scalar(limit));
    return {{scale_shift(e, kept, a, b), c.mask()}};
  }
};

// Shared by both.
struct Drawn : LayerOf<Drawn> {
  int64_t axes = 1;
  std::vector<int64_t> dims;
  std::optional<int64_t> seed;

  void fields(Fields &f) override {
    f("shape", dims, "the axes behind those of the input").required("[2, 3]").within(0, max_dim);
    f("axes", axes, "how many first axes of the input, if there is one, come before").within(0, max_rank);
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
    f("mean", mean, "their mean");
    f("stddev", stddev, "their standard deviation").at_least(0);
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
    f("minval", least, "the least");
    f("maxval", most, "what all are below");
  }
  std::vector<Symbol> call(Call &c) const override {
    return {{ops::scale_shift(c.e, drawn(c, ops::random_uniform), most - least, least)}};
  }
};

}  // namespace

void noise_shape_field(Fields &f, std::optional<NoiseShape> &place) {
  f("noise_shape", place,
    "shape of the random mask, batch included: null = as the input, 1 = one draw for the whole axis")
      .within(1, max_dim);
}
void seed_field(Fields &f, std::optional<int64_t> &place) {
  f("seed", place, "seed of its own; null = from the context's");
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

DL4_TABLE(SpatialDropouts, dropouts)
DL4_KINDS(dropping, Dropout, GaussianNoise, GaussianDropout, AlphaDropout, RandomNormalLayer, RandomUniformLayer)

}  // namespace dl4::kinds
