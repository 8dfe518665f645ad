// Dense: activation(x kernel + bias). Embedding, ReversibleEmbedding: rows of a table by index.
#include "kinds/layers/core/masks.hpp"
#include "kinds/layers/core/quantization.hpp"

namespace dl4::kinds {
namespace {

struct Dense : LayerOf<Dense> {
  static constexpr const char *doc =
      "The product of the last axis with a kernel, plus a bias, through an activation: activation(x kernel + bias).";
  int64_t units = 0;
  Activation activation;
  KernelAndBias weights;
  Lora lora;
  Quantized quantization;

  void fields(Fields &f) override {
    f("units", units, "size of the output's last axis").required("4").within(1, max_dim);
    f("activation", activation, "applied to the sum");
    weights.fields(f);
    lora.fields(f);
    f("quantization", quantization, quantization_doc);
  }
  void check() override { lora.check(weights.kernel_constraint, quantization); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, ..., I)"}},
                                    .outputs = {{"y", "(B, ..., units)"}},
                                    .weights = {{"kernel", "(I, units)"},
                                                {"bias", "(units)", "use_bias"},
                                                {"lora_kernel_a", "(I, lora_rank)", "lora_rank"},
                                                {"lora_kernel_b", "(lora_rank, units)", "lora_rank"}},
                                    .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 2);
    c.as_float(0);
    ops::Id y = activation(c.e, quantization ? quantized(c) : product(c));
    c.penalize(weights.activity_regularizer, y);
    return {{y, c.mask()}};
  }

 private:
  ops::Id product(Call &c) const {
    const LoraKernel more = lora_kernel(c);
    const ops::Id w = weights.kernel(c, more.shape, bool(lora)), b = weights.bias(c, units);
    return ops::matmul(c.e, c.x(), more.added(c, w), {}, b);
  }
  LoraKernel lora_kernel(Call &c) const {
    return {lora, "lora_kernel", {c.last_dim(), units}, weights.kernel_regularizer};
  }
  ops::Id quantized(Call &c) const {
    KernelProduct p;
    p.kernel = {c.last_dim(), units};
    p.rows = c.last_dim();
    p.scale = {units};
    p.summed = {-1};
    p.product = [&](ops::Id x, ops::Id w, bool whole) {
      return whole ? whole_product(c.e, x, w) : ops::matmul(c.e, x, w);
    };
    p.to_output = [](ops::Id scales) { return scales; };
    p.bias = [&] { return weights.bias(c, units); };
    if (lora) p.more = [&] { return lora_kernel(c).apart(c, [&](ops::Id a) { return ops::matmul(c.e, c.x(), a); }); };
    return quantized_product(c, *quantization, c.x(), p);
  }
};

}  // namespace
DL4_KINDS(dense, Dense)

void KernelAndBias::fields(Fields &f) {
  f("use_bias", use_bias, "whether a bias is added");
  f("kernel_initializer", kernel_initializer, "fills the kernel at the start");
  f("bias_initializer", bias_initializer, "fills the bias at the start");
  f("kernel_regularizer", kernel_regularizer, "penalty on the kernel, added to the loss");
  f("bias_regularizer", bias_regularizer, "penalty on the bias, added to the loss");
  f("activity_regularizer", activity_regularizer, "penalty on the output divided by the batch size, added to the loss");
  f("kernel_constraint", kernel_constraint, "applied to the kernel after every update");
  f("bias_constraint", bias_constraint, "applied to the bias after every update");
}

ops::Id KernelAndBias::kernel(Call &c, const Shape &shape, bool frozen) const {
  return c.host.weight({"kernel", shape, kernel_initializer, kernel_regularizer, kernel_constraint, true, frozen});
}

ops::Id KernelAndBias::bias(Call &c, int64_t units) const {
  if (!use_bias) return ops::none;
  return c.weight("bias", {units}, bias_initializer, bias_regularizer, bias_constraint);
}

Of<Initializer> KernelAndBias::kernel_initializer_over(const std::vector<int64_t> &in,
                                                       const std::vector<int64_t> &out) const {
  if (!kernel_initializer) return KernelAndBias().kernel_initializer;
  Json config = kernel_initializer->config();
  const Json *in_axes = config.find("input_axes"), *out_axes = config.find("output_axes");
  if (!in_axes || !out_axes || (!in_axes->is_null() && !out_axes->is_null())) return kernel_initializer;
  config["input_axes"] = in;
  config["output_axes"] = out;
  return std::static_pointer_cast<const Initializer>(kernel_initializer->entry().make(config));
}

namespace {

struct Embedding : LayerOf<Embedding> {
  static constexpr const char *doc =
      "Rows of a learned table by their number. An id outside [0, input_dim) is an error of the run.";
  int64_t input_dim = 0, output_dim = 0;
  Of<Initializer> embeddings_initializer = parse<Initializer>("RandomUniform");
  Of<Regularizer> embeddings_regularizer, activity_regularizer;
  Of<Constraint> embeddings_constraint;
  bool mask_zero = false;
  Lora lora;
  Quantized quantization;

  void fields(Fields &f) override {
    f("input_dim", input_dim, "rows of the table: the largest id plus 1").required("7").within(1, max_dim);
    f("output_dim", output_dim, "size of a row").required("3").within(1, max_dim);
    f("embeddings_initializer", embeddings_initializer, "fills the table at the start");
    f("embeddings_regularizer", embeddings_regularizer, "penalty on the table, added to the loss");
    f("activity_regularizer", activity_regularizer,
      "penalty on the output divided by the batch size, added to the loss");
    f("embeddings_constraint", embeddings_constraint, "applied to the table after every update");
    f("mask_zero", mask_zero, "id 0 is padding: its places are masked");
    lora.fields(f);
    f("quantization", quantization, quantization_doc);
  }
  void check() override {
    if (quantization && quantization->turned())
      unsupported_attribute("quantization", "a table is quantized by \"int8\" or \"int4/block\", got \"",
                            quantization->name(), '"');
    lora.check(embeddings_constraint, quantization);
  }
  static constexpr PlainFacts plain{.inputs = {{"ids", "(B, ...), integers"}},
                                    .outputs = {{"y", "(B, ..., output_dim)"}},
                                    .weights = {{"embeddings", "(input_dim, output_dim)"},
                                                {"lora_embeddings_a", "(input_dim, lora_rank)", "lora_rank"},
                                                {"lora_embeddings_b", "(lora_rank, output_dim)", "lora_rank"}},
                                    .mask = "made with mask_zero, else dropped"};

  std::vector<Symbol> call(Call &c) const override {
    ops::Id y = quantization ? quantized_rows(c) : ops::gather(c.e, floats(c), c.x());
    if (quantization && lora)
      y = ops::add(c.e, y, lora_kernel().apart(c, [&](ops::Id a) { return ops::gather(c.e, a, c.x()); }));
    c.penalize(activity_regularizer, y);
    if (!mask_zero) return {{y}};
    return {{y, ops::binary(c.e, ops::Binary::not_equal, c.x(), c.e.scalar(0, c.e.dtype(c.x())))}};
  }

 protected:
  ops::Id floats(Call &c) const { return lora_kernel().added(c, own_floats(c)); }
  ops::Id own_floats(Call &c) const {
    return c.host.weight({"embeddings",
                          {input_dim, output_dim},
                          embeddings_initializer,
                          embeddings_regularizer,
                          embeddings_constraint,
                          true,
                          bool(lora)});
  }
  LoraKernel lora_kernel() const { return {lora, "lora_embeddings", {input_dim, output_dim}, embeddings_regularizer}; }
  // A quantized table.
  struct Table {
    ops::Id bytes, scale, zero = ops::none, groups = ops::none;
  };
  Table table(Call &c) const {
    const Quantization &q = *quantization;
    const Shape scales = q.grouped() ? Shape{input_dim, q.groups(output_dim)} : Shape{input_dim};
    Table t{bytes_weight(c, "embeddings", {input_dim, q.stored(output_dim)}),
            scale_weight(c, "embeddings_scale", scales)};
    if (!q.grouped()) return t;
    t.zero = bytes_weight(c, "embeddings_zero", scales);
    t.groups = groups_weight(c, "g_idx", output_dim);
    return t;
  }
  ops::Id whole(ops::Emit &e, ops::Id bytes) const {
    return quantization->bits == 4 ? from_nibbles(e, bytes, output_dim, true) : from_int8(e, bytes);
  }

 private:
  ops::Id quantized_rows(Call &c) const {
    ops::Emit &e = c.e;
    const Table t = table(c);
    ops::Id y = whole(e, ops::gather(e, t.bytes, c.x())), scale = ops::gather(e, t.scale, c.x());
    if (t.zero == ops::none) return ops::div(e, y, ops::expand_dims(e, scale, -1));
    // By group: parameters with groups have them on the first axis.
    const auto of_each = [&](ops::Id v) {
      const int last = e.rank(v) - 1;
      std::vector<int> first{last}, back;
      for (int i = 0; i < last; ++i) first.push_back(i), back.push_back(i + 1);
      back.push_back(0);
      return ops::transpose(e, ops::gather(e, ops::transpose(e, v, first), t.groups), back);
    };
    const ops::Id zero = from_int8(e, ops::gather(e, t.zero, c.x()));
    return ops::mul(e, ops::sub(e, y, of_each(zero)), of_each(scale));
  }
};

struct ReversibleEmbedding final : Embedding {
  static constexpr const char *doc =
      "An Embedding that also leads back: called with reverse, it multiplies vectors by the table, or by a weight of "
      "its own, to a score of each id.";
  bool tie_weights = true;
  enum class ReverseType { float32, none } reverse_dtype = ReverseType::none;
  std::optional<double> logit_soft_cap;

  void fields(Fields &f) override {
    Embedding::fields(f);
    f("tie_weights", tie_weights, "whether the way back uses the table itself");
    f("reverse_dtype", reverse_dtype, {"float32"}, "type of the way back; null: the layer's")
        .null_means(ReverseType::none)
        .among_others();
    f("logit_soft_cap", logit_soft_cap, "scores s become cap * tanh(s / cap); null: as they are");
  }
  void check() override {
    Embedding::check();
    if (logit_soft_cap == 0.0) refuse_attribute("logit_soft_cap", "expected another number than 0");
  }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(B, ...), integers; with reverse (B, ..., output_dim)"}},
                                      .outputs = {{"y", "(B, ..., output_dim); with reverse (B, ..., input_dim)"}},
                                      .weights = {{"embeddings", "(input_dim, output_dim)"},
                                                  {"lora_embeddings_a", "(input_dim, lora_rank)", "lora_rank"},
                                                  {"lora_embeddings_b", "(lora_rank, output_dim)", "lora_rank"},
                                                  {"reverse_embeddings", "(output_dim, input_dim)", "not tie_weights"}},
                                      .arguments = {{"reverse", "bool", "from vectors to scores of ids"}},
                                      .mask = "made with mask_zero and without reverse, else dropped"};
    return plain;
  }

  std::vector<Symbol> call(Call &c) const override {
    const bool reverse = c.flag("reverse", false);
    std::vector<Symbol> y;
    // The first call creates the weights of the reverse projection whichever direction it uses; LoRA's come last.
    if (!quantization && !tie_weights) own_floats(c), own_way_back(c);
    if (!reverse) y = Embedding::call(c);
    ops::Id scores = quantization ? quantized_scores(c, reverse) : reverse ? plain_scores(c) : ops::none;
    if (!reverse) return y;
    if (logit_soft_cap) {
      const auto cap = static_cast<float>(*logit_soft_cap);
      scores = ops::scale(c.e, ops::unary(c.e, ops::Unary::tanh, ops::div(c.e, scores, c.e.scalar(cap))), cap);
    }
    c.penalize(activity_regularizer, scores);
    return {{scores}};
  }

 private:
  static void need_vectors(Call &c) {
    c.need_rank_from(0, 2);
    c.need_float(0);
  }
  ops::Id own_way_back(Call &c) const {
    return c.weight("reverse_embeddings", {output_dim, input_dim}, embeddings_initializer);
  }
  ops::Id plain_scores(Call &c) const {
    need_vectors(c);
    return ops::matmul(c.e, c.x(), tie_weights ? floats(c) : own_way_back(c), {.transpose_b = tie_weights});
  }
  // none: the forward direction.
  ops::Id quantized_scores(Call &c, bool reverse) const {
    ops::Emit &e = c.e;
    const Quantization &q = *quantization;
    const Table t = table(c);
    const auto turned = [&](ops::Id v) { return ops::transpose(e, v, {1, 0}); };
    const auto by_columns = [&](ops::Id v) { return t.zero == ops::none ? v : turned(v); };
    ops::Id bytes = t.bytes, scale = by_columns(t.scale), zero = ops::none;
    if (!tie_weights) {
      const Shape scales = q.grouped() ? Shape{q.groups(output_dim), input_dim} : Shape{input_dim};
      bytes = turned(bytes_weight(c, "reverse_embeddings", {q.stored(output_dim), input_dim}));
      scale = scale_weight(c, "reverse_embeddings_scale", scales);
      if (q.grouped()) zero = scale_weight(c, "reverse_embeddings_zero", scales);  // float in Keras too
    } else if (q.grouped()) {
      zero = turned(from_int8(e, t.zero));
    }
    if (!reverse) return ops::none;
    need_vectors(c);
    ops::Id w = turned(whole(e, bytes));  // (output_dim, input_dim)
    ops::Id x = c.x(), by = ops::none;
    if (q.inputs) {
      const WholeInputs in = whole_inputs(e, *q.inputs, x, {-1});
      x = in.x, by = in.scale;
    }
    if (q.grouped()) {
      const ops::Id y = ops::matmul(e, x, by_group(e, w, scale, zero, t.groups));
      return by == ops::none ? y : ops::div(e, y, by);
    }
    const ops::Id y = q.inputs ? whole_product(e, x, w) : ops::matmul(e, x, w);
    return ops::div(e, y, by == ops::none ? scale : ops::mul(e, by, scale));
  }
};

}  // namespace
DL4_KINDS(embedding, Embedding, ReversibleEmbedding)

}  // namespace dl4::kinds
