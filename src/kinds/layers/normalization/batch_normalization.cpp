// BatchNormalization: uses batch statistics in training and moving ones otherwise.
// SpectralNormalization: training divides the inner layer's kernel by its largest singular value.
#include <cmath>

#include "kinds/layers/core/masks.hpp"
#include "kinds/layers/normalization/standardized.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

// The square root of another initializer's values.
class Root final : public Initializer {
 public:
  explicit Root(Of<Initializer> of) : of_(std::move(of)) {}
  bool is_random() const override { return of_->is_random(); }
  void fill(Tensor &t, const Seed &seed) const override {
    of_->fill(t, seed);
    for (int64_t i = 0, n = t.elements(); i < n; ++i) t.as<float>()[i] = std::sqrt(t.as<float>()[i]);
  }

 private:
  Of<Initializer> of_;
};

struct Moments {
  Id mean, variance;  // (C)
};

struct BatchNormalization : LayerOf<BatchNormalization> {
  static constexpr const char *doc =
      "gamma * (x - mean) / sqrt(variance + epsilon) + beta for each index of an axis. In training with the mean and "
      "variance of the batch, by which the moving ones are moved; else, and where the layer is frozen, with those.";
  int64_t axis = -1;
  double momentum = 0.99, epsilon = 1e-3, renorm_momentum = 0.99;
  ScaleAndCenter weights;
  Of<Initializer> moving_mean_initializer = parse<Initializer>("Zeros");
  Of<Initializer> moving_variance_initializer = parse<Initializer>("Ones");
  bool synchronized = false, renorm = false;
  std::optional<Numbers> renorm_clipping;

  void fields(Fields &f) override {
    f("axis", axis, "the axis that keeps its own statistics, as a rule that of the features");
    f("momentum", momentum, "of the moving statistics: moving * momentum + batch * (1 - momentum)");
    f("epsilon", epsilon, "added to the variance");
    weights.fields(f);
    f("moving_mean_initializer", moving_mean_initializer, "fills the moving mean at the start");
    f("moving_variance_initializer", moving_variance_initializer, "fills the moving variance at the start");
    f("synchronized", synchronized,
      "statistics of the whole batch where workers have parts of it, as without workers; refused with shards");
    f("renorm", renorm, "batch renormalization: training corrects the batch's statistics towards moving ones");
    f("renorm_clipping", renorm_clipping,
      "bounds of the correction x * r + d: \"rmin\" and \"rmax\" of r, \"dmax\" of |d|; what is left out is "
      "free");
    f("renorm_momentum", renorm_momentum, "of the moving statistics that renorm corrects towards");
  }
  static constexpr PlainFacts plain{
      .inputs = {{"x", "(B, ..., C)"}},
      .outputs = {{"y", "(B, ..., C)"}},
      .weights = {{"gamma", "(C)", "scale"},
                  {"beta", "(C)", "center"},
                  {"moving_mean", "(C), not trained"},
                  {"moving_variance", "(C), not trained"},
                  {"moving_stddev", "(C), not trained", "renorm"},
                  {"renorm_mean", "(C), not trained", "renorm"},
                  {"renorm_stddev", "(C), not trained", "renorm"}},
      .arguments = {{"mask", "tensor",
                     "bool, broadcasts to all axes of x but the last: what the batch's statistics are of"}},
      .mask = "used and passed on"};

  void check() override {
    if (!renorm_clipping) return;
    for (const auto &[key, value] : *renorm_clipping)
      if (key != "rmin" && key != "rmax" && key != "dmax")
        refuse_attribute("renorm_clipping", "expected \"rmin\", \"rmax\" and \"dmax\", got \"" + key + '"');
    if (!renorm) return;
    if (auto low = bound("rmin"), high = bound("rmax"); low && high && *high < *low)
      refuse_attribute("renorm_clipping", "expected rmax of at least rmin, which is ", *low, ", got ", *high);
    if (auto d = bound("dmax"); d && *d < 0)
      refuse_attribute("renorm_clipping", "expected dmax of at least 0, got ", *d);
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 2);
    c.as_float(0);
    ops::Emit &e = c.e;
    const int at = c.shape().axis(axis);
    const Shape shape{known_dim(c, at)};
    Id gamma = weights.gamma(c, shape), beta = weights.beta(c, shape);
    Id moving_mean = c.non_trainable("moving_mean", shape, moving_mean_initializer);
    Id moving_variance = c.non_trainable("moving_variance", shape, moving_variance_initializer);
    Corrected corrected;
    if (renorm) corrected = correction_weights(c, shape);
    Moments m{moving_mean, moving_variance};
    const Id mask = mask_of(c);
    if (c.training() && c.host.trainable("")) {
      const auto workers = synchronized ? c.host.collective() : nullptr;
      if (synchronized && !workers && e.rank(c.host.draws()) > 0)
        unsupported_attribute("synchronized",
                              "expected false where a batch is cut into shards, which are computed one behind "
                              "the other");
      m = mask == ops::none && !workers ? moments(e, c.x(), at) : moments(e, c.x(), at, mask, workers);
      if (renorm) correct(c, m, corrected, gamma, beta);
      c.write("moving_mean", moved(e, moving_mean, m.mean, momentum));
      if (!renorm) c.write("moving_variance", moved(e, moving_variance, m.variance, momentum));
    }
    return {{normalised(e, c.x(), at, m, gamma, beta), mask}};
  }

 private:
  // A passed mask may have axes of size 1.
  static Id mask_of(Call &c) {
    const Id mask = mask_as_given(c);
    if (mask == ops::none) return mask;
    const Shape x = c.shape(), got = c.e.shape(mask);
    bool fits = got.rank() == x.rank() - 1, broadcasts = false;
    for (int i = 0; fits && i < got.rank(); ++i) {
      fits = got[i] == 1 || compatible(Shape{got[i]}, Shape{x[i]});
      broadcasts |= got[i] == 1 && x[i] != 1;
    }
    if (!fits) fail(Code::shape_mismatch, "\"mask\": expected all axes but the last of ", x, ", got ", got);
    return broadcasts ? any(c.e, broadcast_like(c.e, expand_dims(c.e, mask, -1), c.x()), -1, false) : mask;
  }

  struct Corrected {
    Id stddev = ops::none, mean = ops::none, renorm_stddev = ops::none;
  };

  std::optional<double> bound(const char *key) const {
    if (!renorm_clipping) return {};
    auto it = renorm_clipping->find(key);
    return it == renorm_clipping->end() ? std::nullopt : std::optional(it->second);
  }

  Corrected correction_weights(Call &c, const Shape &shape) const {
    const auto root = std::make_shared<Root>(moving_variance_initializer);
    Corrected w;
    w.stddev = c.non_trainable("moving_stddev", shape, root);
    w.mean = c.non_trainable("renorm_mean", shape, moving_mean_initializer);
    w.renorm_stddev = c.non_trainable("renorm_stddev", shape, root);
    return w;
  }

  static Id moved(ops::Emit &e, Id moving, Id batch, double momentum) {
    return add(e, scale(e, moving, static_cast<float>(momentum)), scale(e, batch, static_cast<float>(1 - momentum)));
  }
  Id root(ops::Emit &e, Id variance) const { return unary(e, ops::Unary::sqrt, add(e, variance, e.scalar(epsilon))); }

  // Reshapes a vector to broadcast along the axis.
  static Id along(ops::Emit &e, Id vector, int at, int rank) {
    for (int i = at + 1; i < rank; ++i) vector = expand_dims(e, vector, -1);
    return vector;
  }
  static std::vector<int> others(int at, int rank) {
    std::vector<int> axes;
    for (int i = 0; i < rank; ++i)
      if (i != at) axes.push_back(i);
    return axes;
  }

  static Moments moments(ops::Emit &e, Id x, int at) {
    const int rank = e.rank(x);
    const std::vector<int> axes = others(at, rank);
    Id mean = reduce(e, ops::Reduce::mean, x, axes);
    Id apart = unary(e, ops::Unary::square, sub(e, x, along(e, mean, at, rank)));
    return {mean, reduce(e, ops::Reduce::mean, apart, axes)};
  }

  // Moments over unmasked positions; with none left 0, as in Keras. With workers over all their batches, in two passes:
  // the mean of squares minus the squared mean would cancel.
  static Moments moments(ops::Emit &e, Id x, int at, Id mask, const std::shared_ptr<ops::Collective> &workers) {
    const int rank = e.rank(x);
    const std::vector<int> axes = others(at, rank);
    const Id zero = e.scalar(0);
    const Id valid = mask == ops::none ? ops::none : broadcast_like(e, expand_dims(e, mask, -1), x);
    auto total = [&](Id v) { return reduce(e, ops::Reduce::sum, v, axes); };
    auto kept = [&](Id v) { return mask == ops::none ? v : select(e, valid, v, zero); };
    Id sum = total(kept(x)), count = mask == ops::none ? elements(e, x, at) : total(cast(e, valid, DType::f32));
    if (workers) {
      const int64_t n = e.shape(sum)[0];
      const Id all = all_reduce(e, workers, concat(e, {sum, count}, 0));
      sum = slice(e, all, 0, 0, n);
      count = slice(e, all, 0, n, -1);
    }
    if (mask != ops::none) count = add(e, count, e.scalar(1e-7));
    Id mean = div(e, sum, count);
    Id squares = total(unary(e, ops::Unary::square, kept(sub(e, x, along(e, mean, at, rank)))));
    if (workers) squares = all_reduce(e, workers, squares);
    return {mean, div(e, squares, count)};
  }

  // (1): number of positions per index of the axis.
  static Id elements(ops::Emit &e, Id x, int at) {
    const Id one = slice(e, x, at, 0, 1);
    return reduce(e, ops::Reduce::sum, fill(e, DType::f32, 1, one, e.rank(x), {}), others(at, e.rank(x)));
  }

  // Folds the correction from batch moments to moving statistics into gamma and beta, and updates the statistics.
  void correct(Call &c, const Moments &m, const Corrected &w, Id &gamma, Id &beta) const {
    ops::Emit &e = c.e;
    using ops::Binary;
    Id stddev = root(e, m.variance);
    Id least = binary(e, Binary::max, w.renorm_stddev, e.scalar(std::sqrt(static_cast<float>(epsilon))));
    Id r = div(e, stddev, least), d = div(e, sub(e, m.mean, w.mean), least);
    if (auto v = bound("rmin")) r = binary(e, Binary::max, r, e.scalar(*v));
    if (auto v = bound("rmax")) r = binary(e, Binary::min, r, e.scalar(*v));
    if (auto v = bound("dmax")) d = binary(e, Binary::min, binary(e, Binary::max, d, e.scalar(-*v)), e.scalar(*v));
    r = stop_gradient(e, r);
    d = stop_gradient(e, d);
    if (gamma != ops::none) d = mul(e, d, gamma);
    gamma = gamma == ops::none ? r : mul(e, r, gamma);
    beta = beta == ops::none ? d : add(e, d, beta);
    c.write("renorm_mean", moved(e, w.mean, m.mean, renorm_momentum));
    c.write("renorm_stddev", moved(e, w.renorm_stddev, stddev, renorm_momentum));
    Id moving = moved(e, w.stddev, stddev, momentum);
    c.write("moving_stddev", moving);
    // Rounding may make it negative.
    Id variance = sub(e, unary(e, ops::Unary::square, moving), e.scalar(epsilon));
    c.write("moving_variance", unary(e, ops::Unary::relu, variance));
  }

  Id normalised(ops::Emit &e, Id x, int at, const Moments &m, Id gamma, Id beta) const {
    const int rank = e.rank(x);
    Id by = unary(e, ops::Unary::rsqrt, add(e, m.variance, e.scalar(epsilon)));
    if (gamma != ops::none) by = mul(e, by, gamma);
    Id shift = mul(e, unary(e, ops::Unary::neg, m.mean), by);
    if (beta != ops::none) shift = add(e, shift, beta);
    return add(e, mul(e, x, along(e, by, at, rank)), along(e, shift, at, rank));
  }
};

struct SpectralNormalization : Layer {
  static constexpr const char *doc =
      "A layer whose kernel or embeddings W, seen as rows of its last axis, each call in training divides by its "
      "largest singular value, as power iterations from vector_u find it: W is left so, frozen or not, and its "
      "gradient is that of the divided one. Zeros stay. The output has the input's dtype.";
  InnerLayer layer;
  int64_t power_iterations = 1;

  void fields(Fields &f) override {
    f("layer", layer, "the layer, which has a weight \"kernel\" or \"embeddings\"")
        .required(R"({"class_name": "Dense", "config": {"units": 4}})");
    f("power_iterations", power_iterations, "iterations of each call").within(1, 1000);
  }
  Facts facts() const override {
    const char *const shape = !layer || by_sample(*layer.kind) ? "(B, ...)" : "(...)";
    return PlainFacts{.inputs = {{"x", shape}},
                      .outputs = {{"y", shape}},
                      .weights = {{"kernel", "the layer's"},
                                  {"vector_u", "(1, its last axis): moved in training"},
                                  {"weights", "the layer's others"}},
                      .inside = {{"layer", "layer"}},
                      .mask = "used by the inner layer; passed on as that does"};
  }
  void check() override {
    const Json rank = layer ? layer->config().value("lora_rank", nullptr) : Json();
    if (!rank.is_null()) unsupported_attribute("layer", "the kernel of a layer with lora_rank is not normalized");
    if (layer && layer->arity().least <= 1 && has("kernel") != has("embeddings") && !has("recurrent_kernel")) return;
    refuse_attribute("layer", "expected a layer of one input with a weight \"kernel\" or \"embeddings\", got " +
                                  (layer ? layer->entry().name.c_str() : std::string("null")));
  }

  std::vector<Symbol> call(Call &c) const override {
    const std::string kernel = layer.name + (has("kernel") ? "/kernel" : "/embeddings");
    const auto weight_of = [&](const WeightSpec &spec) {
      return spec.name == kernel ? divided(c, spec) : c.host.weight(spec);
    };
    const Symbol y = c.run(layer, c.in, {}, weight_of)[0];
    const DType dtype = c.e.dtype(c.x());
    return {{ops::cast(c.e, y.value, dtype), c.e.dtype(y.value) == dtype ? y.mask : ops::none}};
  }

 private:
  bool has(std::string_view weight) const {
    const Facts facts = layer->facts();
    return std::any_of(facts.weights.begin(), facts.weights.end(),
                       [&](const Port &p) { return std::string_view(p.name) == weight; });
  }

  Id divided(Call &c, WeightSpec spec) const {
    static const auto start =
        parse<Initializer>(Json{{"class_name", "TruncatedNormal"}, {"config", {{"stddev", 0.02}}}});
    spec.assigned = true;
    const Id kernel = c.host.weight(spec);
    WeightSpec vector{"vector_u", {1, spec.shape.last()}, start, nullptr, nullptr, false};
    vector.assigned = true;
    const Id before = c.host.weight(vector);
    if (!c.training()) return kernel;

    ops::Emit &e = c.e;
    const Id rows = ops::reshape(e, kernel, 0, {-1, spec.shape.last()});
    Id u = before, v = ops::none;
    for (int64_t i = 0; i < power_iterations; ++i) {
      v = normalised(e, ops::matmul(e, u, rows, {.transpose_b = true}), {0, 1});
      u = normalised(e, ops::matmul(e, v, rows), {0, 1});
    }
    const Id sigma = ops::matmul(e, ops::matmul(e, v, rows), u, {.transpose_b = true});
    const Id by_sigma = ops::reshape_like(e, ops::div(e, rows, sigma), kernel);
    const Id zeros = ops::reduce(e, ops::Reduce::min, ops::binary(e, ops::Binary::equal, kernel, e.scalar(0)), {});
    c.host.write("vector_u", ops::select(e, zeros, before, u));
    c.host.write(spec.name, ops::select(e, zeros, kernel, by_sigma));
    return c.host.weight(spec);
  }
};

}  // namespace

DL4_KINDS(batch_normalization, BatchNormalization)
DL4_KINDS(spectral_normalization, SpectralNormalization)

}  // namespace dl4::kinds
