// MultiHeadAttention and GroupQueryAttention: projections, masks, products and the output projection.
#include <cmath>
#include <numeric>

#include "kinds/layers/core/masks.hpp"
#include "kinds/layers/core/quantization.hpp"
#include "kinds/layers/random/dropping.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id, ops::none;

struct HeadedAttention : Layer {
  double dropout = 0;
  bool use_gate = false;
  std::optional<int64_t> sliding_window, seed;
  std::optional<bool> flash_attention;
  KernelAndBias weights;
  Quantized quantization;
  LoraByName lora;

  Arity arity() const override { return {2, 3}; }
  void check() override;
  std::vector<Symbol> call(Call &c) const override;

 protected:
  struct Sizes {
    int64_t heads, groups, key, value;  // groups: heads of keys and values
  };
  virtual Sizes sizes() const = 0;
  // Axes of the inputs over which queries and keys are indexed, in the order of the scores' axes.
  virtual std::vector<int> attended(const Call &c) const = 0;
  virtual Shape output(const Call &c) const = 0;  // last axes of the output

  void headed_fields(Fields &f);
  Facts headed_facts(const char *group_kernel, const char *value_kernel) const;

 private:
  struct Operands;
  struct Attended;
  Operands operands(Call &c, const Sizes &s) const;
  ops::Id projected(Call &c, const char *name, const Shape &in, const Shape &out, ops::Id x) const;
  bool zero_if_blind(Call &c, const Operands &o, bool return_scores) const;
  Attended fused(Call &c, const Operands &o) const;
  Attended composed(Call &c, const Operands &o, bool return_scores) const;
  ops::Id keep(Call &c, const Operands &o, ops::Id score) const;
};

void HeadedAttention::headed_fields(Fields &f) {
  f("dropout", dropout, "fraction of the attention weights to drop in training").within(0, 1);
  f("sliding_window", sliding_window, "a query sees only keys that are fewer steps away than this; null = all")
      .within(1, max_dim);
  f("flash_attention", flash_attention, "has no effect on the result; true allows neither dropout nor scores");
  f("use_gate", use_gate, "multiplies what each head gives by a sigmoid of a projection of the query");
  f("seed", seed, "seed of the dropout; null = from the context's");
  weights.fields(f);
  f("quantization", quantization, quantization_doc);
  f("lora", lora,
    "Keras's LoRA of projections: null, or by name (\"query\", \"key\", \"value\", \"gate\", "
    "\"attention_output\") {\"rank\", \"alpha\"}, as lora_rank and lora_alpha of EinsumDense");
}

Facts HeadedAttention::headed_facts(const char *group_kernel, const char *value_kernel) const {
  return PlainFacts{
      .inputs = {{"query", "(B, T, D)"}, {"value", "(B, S, V)"}, {"key", "(B, S, K), value by default"}},
      .outputs = {{"y", "(B, T, D)"}, {"scores", "(B, heads, T, S)", "return_attention_scores"}},
      .weights = {{"query/kernel", "(D, heads, key size)"},
                  {"query/bias", "(heads, key size)", "use_bias"},
                  {"key/kernel", group_kernel},
                  {"key/bias", "as the kernel without its first axis", "use_bias"},
                  {"gate/kernel", "(D, heads, value size)", "use_gate"},
                  {"gate/bias", "(heads, value size)", "use_gate"},
                  {"value/kernel", value_kernel},
                  {"value/bias", "as the kernel without its first axis", "use_bias"},
                  {"attention_output/kernel", "(heads, value size, D)"},
                  {"attention_output/bias", "(D)", "use_bias"},
                  {"query/lora_kernel_a", "the kernel's, the last axis of size rank; of each in lora", "lora"},
                  {"query/lora_kernel_b", "(rank, the kernel's last axis); of each in lora", "lora"}},
      .arguments = {{"query_mask", "tensor",
                     "(B, T) bool; by default what the query carries. A masked query gives all keys the same "
                     "weight. One that is given counts, as Keras's documentation says"},
                    {"value_mask", "tensor", "(B, S) bool: masked keys have no weight"},
                    {"key_mask", "tensor", "(B, S) bool: as value_mask, beside it"},
                    {"attention_mask", "tensor",
                     "(B, T, S), (T, S) or with the axis of heads (B, heads, T, S): which keys a query may see. A "
                     "query that may see none gives all of them the same weight, also where its scores are asked "
                     "for"},
                    {"return_attention_scores", "bool", "whether the weights, before dropout, are an output too"},
                    {"use_causal_mask", "bool", "whether query t sees only keys up to t"}},
      .mask = "used; the query's is passed on"};
}

void HeadedAttention::check() {
  if (flash_attention.value_or(false) && dropout > 0)
    refuse_attribute("dropout", "expected 0 with flash_attention, got ", dropout);
  for (const auto &[name, one] : lora) {
    const bool known = name == "query" || name == "key" || name == "value" || name == "attention_output";
    if (!known && (name != "gate" || !use_gate)) refuse_attribute("lora", "there is no projection \"", name, '"');
    one.check(weights.kernel_constraint, quantization);
  }
}

// Product of the last axes of x with a kernel, like Keras's EinsumDense.
Id HeadedAttention::projected(Call &c, const char *name, const Shape &in, const Shape &out, Id x) const {
  Emit &e = c.e;
  const KernelAndBias &w = weights;
  const int leading = e.rank(x) - in.rank();
  const auto flat = [&](Id v, int keep, const Shape &s) {
    return s.rank() == 1 ? v : reshape(e, v, keep, {s.elements()});
  };
  const auto product_to = [&](const Shape &to, Id from, Id kernel, Id bias, bool whole) {
    const Id a = flat(from, leading, in), b = reshape(e, kernel, 0, {in.elements(), to.elements()});
    const Id y = whole ? whole_product(e, a, b) : ops::matmul(e, a, b, {}, bias == none ? none : flat(bias, 0, to));
    return to.rank() == 1 ? y : reshape(e, y, leading, to);
  };
  const auto product = [&](Id from, Id kernel, Id bias, bool whole) {
    return product_to(out, from, kernel, bias, whole);
  };
  const auto bias = [&] {
    return w.use_bias
               ? c.weight(text(name, "/bias").c_str(), out, w.bias_initializer, w.bias_regularizer, w.bias_constraint)
               : none;
  };
  static const Lora no_lora;
  const auto found = lora.find(name);
  const LoraKernel more{found == lora.end() ? no_lora : found->second, text(name, "/lora_kernel"), in.joined(out),
                        w.kernel_regularizer};
  if (quantization) {
    KernelProduct p;
    p.prefix = text(name, '/');
    p.kernel = in.joined(out);
    p.rows = in.elements();
    p.einsum = true;
    p.scale = Shape(std::vector<int64_t>(static_cast<size_t>(leading), 1)).joined(out);
    for (int i = 0; i < in.rank(); ++i) p.summed.push_back(leading + i);
    p.product = [&](Id from, Id kernel, bool whole) { return product(from, kernel, none, whole); };
    const Shape ones(std::vector<int64_t>(static_cast<size_t>(out.rank()), 1));
    p.to_output = [&](Id scales) { return reshape(e, scales, leading, ones); };
    p.bias = bias;
    if (more.lora)
      p.more = [&] {
        const Shape narrow = out.with(-1, *more.lora.rank);
        return more.apart(c, [&](Id a) { return product_to(narrow, x, a, none, false); });
      };
    return quantized_product(c, *quantization, x, p);
  }
  std::vector<int64_t> axes(static_cast<size_t>(in.rank() + out.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  const auto middle = axes.begin() + in.rank();
  const Id kernel = c.host.weight({text(name, "/kernel"), in.joined(out),
                                   w.kernel_initializer_over({axes.begin(), middle}, {middle, axes.end()}),
                                   w.kernel_regularizer, w.kernel_constraint, true, bool(more.lora)});
  const Id b = bias();
  return product(x, more.added(c, kernel), b, false);
}

// Operands of the attention. Masks: none if nothing is masked; the key mask combines both masks.
struct HeadedAttention::Operands {
  Sizes sizes;
  std::vector<int> axes;  // attended
  Id query, key, value;   // (B, ..., heads, size), masked steps zeroed
  Id all_values;          // including masked steps
  Id query_mask, key_mask, given;
  bool causal;
};
// Output per head, and the weights if requested.
struct HeadedAttention::Attended {
  Id y, scores = none;
};

// The mask argument of that name, or the one that input i carries.
Id mask_of(const Call &c, const char *name, int i, const std::vector<int> &axes) {
  auto given = c.symbols(name);
  Id m = given.empty() ? c.in[static_cast<size_t>(i)].mask : given[0].value;
  if (m == none) return none;
  const Shape s = c.e.shape(m);
  if (axes.size() > 1)
    fail(Code::unsupported, "\"", name, "\": not supported with attention over ", axes.size(),
         " axes; expected \"attention_mask\"");
  if (s.rank() != axes[0] + 1 || !is_mask_of(s, c.shape(i)))
    fail(Code::shape_mismatch, "\"", name, "\": expected the first ", axes[0] + 1, " axes of shape ", c.shape(i),
         ", got ", s);
  return given.empty() ? m : given_for(c.e, m, c.x(i));
}

// Repeats each of the heads of keys or values (..., groups, size) `times` times.
Id repeated(Emit &e, Id x, int64_t times) {
  if (times == 1) return x;
  const Shape s = e.shape(x);
  std::vector<Id> copies(static_cast<size_t>(times), ops::expand_dims(e, x, s.rank() - 1));
  return ops::reshape(e, ops::concat(e, copies, s.rank() - 1), s.rank() - 2, {checked_mul(times, s[-2]), s[-1]});
}

// Order of axes for products: batch axes, heads, attended axes (merged), features.
struct Order {
  std::vector<int> perm, back;
  int apart = 0;

  Order(int rank, const std::vector<int> &axes) {
    auto is_attended = [&](int i) { return std::find(axes.begin(), axes.end(), i) != axes.end(); };
    for (int i = 0; i < rank - 1; ++i)
      if (!is_attended(i)) perm.push_back(i);
    apart = static_cast<int>(perm.size()) - 1;
    perm.insert(perm.end(), axes.begin(), axes.end());
    perm.push_back(rank - 1);
    back.resize(perm.size());
    for (size_t i = 0; i < perm.size(); ++i) back[static_cast<size_t>(perm[i])] = static_cast<int>(i);
  }
  int attended() const { return static_cast<int>(perm.size()) - apart - 2; }

  Id fold(Emit &e, Id x) const {
    Id y = ops::transpose(e, x, perm);
    return attended() == 1 ? y : ops::reshape(e, y, apart + 1, {free_dim, e.shape(y).last()});
  }
  Id unfold(Emit &e, Id y, const Shape &like) const {
    if (attended() > 1) y = ops::reshape(e, y, apart + 1, dims(like).joined({e.shape(y).last()}));
    return ops::transpose(e, y, back);
  }
  // The attended dims of an operand.
  Shape dims(const Shape &like) const {
    std::vector<int64_t> d;
    for (int i = 0; i < attended(); ++i) d.push_back(like[perm[static_cast<size_t>(apart + 1 + i)]]);
    return Shape(d);
  }
};

HeadedAttention::Operands HeadedAttention::operands(Call &c, const Sizes &s) const {
  Emit &e = c.e;
  const auto inputs = static_cast<int>(c.in.size());
  for (int i = 0; i < inputs; ++i) {
    c.need_float(i);
    c.need_rank(i, std::max(c.shape(0).rank(), 3));
  }
  const int k = inputs == 3 ? 2 : 1;
  const Shape of_value = c.shape(1), of_key = c.shape(k);
  if (!compatible(of_value.first(of_value.rank() - 1), of_key.first(of_key.rank() - 1)))
    fail(Code::shape_mismatch, "all dimensions of value and key but the last must be equal. Received shapes ", of_value,
         " and ", of_key);
  Operands o{};
  o.sizes = s;
  o.axes = attended(c);
  o.query_mask = mask_of(c, "query_mask", 0, o.axes);
  o.key_mask = mask_of(c, "value_mask", 1, o.axes);
  if (k == 2 || !c.symbols("key_mask").empty()) o.key_mask = both(e, o.key_mask, mask_of(c, "key_mask", k, o.axes));
  auto given = c.symbols("attention_mask");
  o.given = given.empty() || given[0].value == none ? none : ops::cast(e, given[0].value, DType::boolean);
  o.causal = c.flag("use_causal_mask", false);
  if (o.axes.size() > 1 && (o.causal || sliding_window))
    fail(Code::unsupported, o.causal ? "\"use_causal_mask\"" : "\"sliding_window\"",
         ": not supported with attention over ", o.axes.size(), " axes");
  auto heads_of = [&](const char *name, int i, int64_t heads, int64_t size) {
    Id y = projected(c, name, {c.last_dim(i)}, {heads, size}, c.x(i));
    c.penalize(weights.activity_regularizer, y);
    return y;
  };
  // Masked values are zeroed before any product, since 0 * NaN is NaN, in gradients too.
  o.query = where_valid(e, o.query_mask, heads_of("query", 0, s.heads, s.key), 0);
  o.key = where_valid(e, o.key_mask, heads_of("key", k, s.groups, s.key), 0);
  return o;
}

// Result of a query that sees no key: in Keras zeros if the weights are computed separately, else the mean of all
// values.
bool HeadedAttention::zero_if_blind(Call &c, const Operands &o, bool return_scores) const {
  return dropout > 0 || return_scores || c.e.rank(o.query) != 4;
}

// By the fused op, which does not store the scores.
HeadedAttention::Attended HeadedAttention::fused(Call &c, const Operands &o) const {
  Emit &e = c.e;
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(o.sizes.key)));
  auto [y, sum] = ops::attention(e, o.query, o.key, o.value, o.key_mask, {o.causal, true, scale});
  Id sees_any = none;
  if (o.key_mask != none) {  // shared by all heads
    Id one = ops::reshape(e, ops::slice(e, sum, 1, 0, 1), 1, {free_dim, 1, 1});
    sees_any = ops::binary(e, ops::Binary::not_equal, one, e.scalar(0));
  }
  if (o.query_mask != none) sees_any = both(e, sees_any, spread(e, o.query_mask, 4));
  if (sees_any == none) return {y};
  if (zero_if_blind(c, o, false)) return {ops::select(e, sees_any, y, e.scalar(0))};
  Id mean = ops::reduce(e, ops::Reduce::mean, o.all_values, {1}, true);
  return {ops::select(e, sees_any, y, repeated(e, mean, o.sizes.heads / o.sizes.groups))};
}

// Keys visible to each query, combining masks like Keras, broadcastable to `score`; none: all.
Id HeadedAttention::keep(Call &c, const Operands &o, Id score) const {
  Emit &e = c.e;
  const int pairs = 2 * static_cast<int>(o.axes.size());
  Id m = o.query_mask == none ? none : ops::expand_dims(e, o.query_mask, -1);
  if (o.key_mask != none) m = both(e, m, ops::expand_dims(e, o.key_mask, -2));
  if (o.causal) m = both(e, m, ops::causal_mask(e, score));
  if (sliding_window) m = both(e, m, ops::band_mask(e, score, *sliding_window - 1, *sliding_window - 1));
  if (o.given != none) {
    if (e.rank(o.given) < pairs)
      fail(Code::shape_mismatch, "\"attention_mask\": expected at least ", pairs, " axes, got shape ",
           e.shape(o.given));
    m = both(e, m, o.given);
  }
  if (m == none) return none;
  while (e.rank(m) < e.rank(score)) m = ops::expand_dims(e, m, e.rank(m) - pairs);
  const Shape s = e.shape(m), of_scores = e.shape(score);
  bool fits = s.rank() == of_scores.rank();
  for (int i = 0; fits && i < s.rank(); ++i) fits = s[i] == 1 || compatible(Shape{s[i]}, Shape{of_scores[i]});
  if (!fits)
    fail(Code::shape_mismatch, "\"attention_mask\": expected a shape that broadcasts to the scores' ", of_scores,
         ", got ", s);
  return m;
}

HeadedAttention::Attended HeadedAttention::composed(Call &c, const Operands &o, bool return_scores) const {
  Emit &e = c.e;
  const int64_t times = o.sizes.heads / o.sizes.groups;
  const Order order(e.rank(o.query), o.axes);
  const Shape of_query = e.shape(o.query), of_key = e.shape(o.key);
  Id query = order.fold(e, ops::scale(e, o.query, static_cast<float>(1 / std::sqrt(static_cast<double>(o.sizes.key)))));
  Id key = order.fold(e, repeated(e, o.key, times)), value = order.fold(e, repeated(e, o.value, times));
  Id score = ops::matmul(e, query, key, {.transpose_b = true});
  const Shape folded = e.shape(score),
              whole = folded.first(order.apart + 1).joined(order.dims(of_query)).joined(order.dims(of_key));
  auto seen_as = [&](Id v, const Shape &s) {
    return folded.rank() == whole.rank() ? v : ops::reshape(e, v, order.apart + 1, s.last(s.rank() - order.apart - 1));
  };
  const bool seen_whole = folded.rank() != whole.rank() && (o.given != none || return_scores);
  if (seen_whole) score = seen_as(score, whole);
  Id may_see = keep(c, o, score);
  // Lowest score: zero weight, or equal weights if everything is masked.
  if (may_see != none) score = ops::select(e, may_see, score, e.scalar(std::numeric_limits<float>::lowest()));
  if (seen_whole) score = seen_as(score, folded);
  Id weights_of = ops::softmax(e, score);
  const bool zero = may_see != none && zero_if_blind(c, o, return_scores);
  if (zero) {
    Id w = ops::select(e, may_see, seen_whole ? seen_as(weights_of, whole) : weights_of, e.scalar(0));
    weights_of = seen_whole ? seen_as(w, folded) : w;
  }
  Id y = ops::matmul(e, dropped(c, weights_of, dropout, seed), value);
  if (o.key_mask != none && !zero) {  // zeroed values count for a query that sees nothing
    Id all = order.fold(e, repeated(e, o.all_values, times));
    Id mean = ops::reduce(e, ops::Reduce::mean, all, {-2}, true);
    y = ops::select(e, any(e, may_see, -1, true), y, mean);
  }
  return {order.unfold(e, y, of_query), return_scores ? seen_as(weights_of, whole) : none};
}

std::vector<Symbol> HeadedAttention::call(Call &c) const {
  Emit &e = c.e;
  const Sizes s = sizes();
  const Shape last = output(c);
  const bool return_scores = c.flag("return_attention_scores", false);
  if (return_scores && flash_attention.value_or(false))
    fail(Code::invalid_argument, "\"return_attention_scores\": expected false with flash_attention, got true");
  Operands o = operands(c, s);
  Id gate = none;
  if (use_gate) {
    gate = ops::unary(e, ops::Unary::sigmoid, projected(c, "gate", {c.last_dim(0)}, {s.heads, s.value}, c.x(0)));
    c.penalize(weights.activity_regularizer, gate);
  }
  o.all_values = projected(c, "value", {c.last_dim(1)}, {s.groups, s.value}, c.x(1));
  c.penalize(weights.activity_regularizer, o.all_values);
  o.value = where_valid(e, o.key_mask, o.all_values, 0);

  const bool drops = dropout > 0 && c.training();
  const bool by_op = e.rank(o.query) == 4 && o.given == none && !sliding_window && !return_scores && !drops;
  if (by_op && dropout > 0) c.host.random_seed(seed);  // the same seeds as with dropout
  const Attended found = by_op ? fused(c, o) : composed(c, o, return_scores);
  Id y = use_gate ? ops::mul(e, found.y, gate) : found.y;
  y = projected(c, "attention_output", {s.heads, s.value}, last, y);
  c.penalize(weights.activity_regularizer, y);
  std::vector<Symbol> outputs{{y, c.in[0].mask}};
  if (return_scores) outputs.push_back({found.scores});
  return outputs;
}

struct MultiHeadAttention : HeadedAttention {
  static constexpr const char *doc =
      "Attention in heads: each projects query, key and value and gives softmax(query key^T / sqrt(key_dim)) value; "
      "what they give is projected to the output. Inputs are query, value and, if it is not the value, key.";
  int64_t num_heads = 0, key_dim = 0;
  std::optional<int64_t> value_dim;
  std::optional<std::vector<int64_t>> output_shape, attention_axes;

  void fields(Fields &f) override {
    f("num_heads", num_heads, "number of heads").required("2").within(1, max_dim);
    f("key_dim", key_dim, "size of each head's query and key").required("3").within(1, max_dim);
    f("value_dim", value_dim, "size of each head's value; null = key_dim").within(1, max_dim);
    f("output_shape", output_shape,
      "the output's axes after those of time: a number or a list; null = the query's last")
        .within(1, max_dim);
    f("attention_axes", attention_axes,
      "the axes that are attended over, a number or a list; null = all but the first and the last");
    headed_fields(f);
  }
  Facts facts() const override {
    Facts facts = headed_facts("(K, num_heads, key_dim)", "(V, num_heads, value_dim)");
    facts.taken_off = {true, true, true};
    return facts;
  }

 protected:
  Sizes sizes() const override { return {num_heads, num_heads, key_dim, value_dim.value_or(key_dim)}; }

  std::vector<int> attended(const Call &c) const override {
    const int rank = c.shape(0).rank();
    std::vector<int> axes;
    if (!attention_axes)
      for (int i = 1; i + 1 < rank; ++i) axes.push_back(i);
    else
      for (int64_t a : *attention_axes) {
        const int64_t axis = a < 0 ? a + rank : a;
        if (axis < 1 || axis > rank - 2 || std::find(axes.begin(), axes.end(), axis) != axes.end())
          fail(Code::shape_mismatch, "\"attention_axes\": expected different axes from 1 to ", rank - 2, ", got ", a);
        axes.push_back(static_cast<int>(axis));
      }
    if (axes.empty()) fail(Code::shape_mismatch, "\"attention_axes\": expected at least one axis");
    return axes;
  }
  Shape output(const Call &c) const override {
    if (!output_shape || output_shape->empty()) return {c.last_dim(0)};
    return Shape(*output_shape);
  }
};

struct GroupQueryAttention : HeadedAttention {
  static constexpr const char *aliases[] = {"GroupedQueryAttention"};
  static constexpr const char *doc =
      "Attention in heads, of which several share their projections of key and value: "
      "softmax(query key^T / sqrt(head_dim)) value. Inputs are query, value and, if it is not the value, key.";
  int64_t head_dim = 0, num_query_heads = 0, num_key_value_heads = 0;

  void fields(Fields &f) override {
    f("head_dim", head_dim, "size of each head").required("3").within(1, max_dim);
    f("num_query_heads", num_query_heads, "number of heads").required("4").within(1, max_dim);
    f("num_key_value_heads", num_key_value_heads, "number of different keys and values; divides num_query_heads")
        .required("2")
        .within(1, max_dim);
    headed_fields(f);
  }
  Facts facts() const override {
    return headed_facts("(K, num_key_value_heads, head_dim)", "(V, num_key_value_heads, head_dim)");
  }
  void check() override {
    HeadedAttention::check();
    if (num_query_heads % num_key_value_heads != 0)
      refuse_attribute("num_query_heads", "expected a multiple of num_key_value_heads, ", num_key_value_heads, ", got ",
                       num_query_heads);
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 3);
    std::vector<Symbol> y = HeadedAttention::call(c);
    for (const Symbol &s : y) c.penalize(weights.activity_regularizer, s.value);  // penalized twice, like Keras
    return y;
  }

 protected:
  Sizes sizes() const override { return {num_query_heads, num_key_value_heads, head_dim, head_dim}; }
  std::vector<int> attended(const Call &) const override { return {1}; }
  Shape output(const Call &c) const override { return {c.last_dim(0)}; }
};

}  // namespace

DL4_KINDS(headed_attention, MultiHeadAttention, GroupQueryAttention)

}  // namespace dl4::kinds
