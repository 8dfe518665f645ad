// LSTM, GRU and SimpleRNN, and their cells as layers.
// Wrappers over time. Bidirectional: a layer forwards and backwards. TimeDistributed: a layer at every step.
#include "kinds/layers/core/masks.hpp"
#include "kinds/layers/recurrent/recurrent.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id;

struct LstmCell : CellAttributes {
  static constexpr int64_t gates = 4;
  LstmBias bias;

  void fields(Fields &f) { CellAttributes::fields(f, gates), bias.fields(f); }
  void check() const { bias.check(weights); }
  std::vector<Shape> states() const { return {Shape{units}, Shape{units}}; }
  static std::vector<Port> ports() {
    return {{"kernel", "(I, 4 units)"}, {"recurrent_kernel", "(units, 4 units)"}, {"bias", "(4 units)", "use_bias"}};
  }

  // Whether the whole-sequence kernels apply.
  bool is_plain() const {
    return activation.name() == "tanh" && recurrent_activation.name() == "sigmoid" && recurrent_dropout == 0 &&
           (implementation == 2 || dropout == 0);
  }

  struct Weights {
    ops::Id kernel, recurrent_kernel, bias;
  };
  Weights ask(Call &c) const {
    return {weights.kernel(c, {c.last_dim(), checked_mul(gates, units)}), recurrent_kernel(c, gates),
            bias.ask(c, weights, units)};
  }

  Cell call(Call &c) const {
    const Weights w = ask(c);
    const ops::Id masks = input_masks(c, gates), h_masks = recurrent_masks(c, gates);
    return {states(), [=, this](const Inside &in, ops::Id x, const Ids &states) {
              auto here = [&](ops::Id v) { return v == ops::none ? v : in.constant(v); };
              ops::Emit &e = in.e;
              const Ids from_x = products_by_gate(e, x, here(masks), here(w.kernel), here(w.bias), units, gates);
              const Ids from_h =
                  products_by_gate(e, states[0], here(h_masks), here(w.recurrent_kernel), ops::none, units, gates);
              return lstm_step(e, from_x, from_h, states[1], activation, recurrent_activation);
            }};
  }
};

struct LSTM : RecurrentLayer<LstmCell> {
  static constexpr const char *doc =
      "Long short-term memory over (batch, time, features). Gates in the order i, f, c, o; "
      "c = f * c' + i * activation(z_c), h = o * activation(c). At a masked step the states stay and the output "
      "repeats.";

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 3);
    c.as_float(0);
    const ops::Id used = how.mask(c);
    const std::vector<Shape> states = cell.states();
    const Ids first = how.begin(c, states);
    // The output repeated at masked steps may come from the previous call.
    const bool carried = first[0] != ops::none && c.symbols("initial_state").empty();
    if (!cell.is_plain() || (carried && used != ops::none))
      return how.run(c, cell.call(c), cell.weights.activity_regularizer);
    const LstmCell::Weights w = cell.ask(c);
    const ops::Id masks = cell.input_masks(c, LstmCell::gates);
    const ops::Id x = masks == ops::none ? c.x() : ops::mul(c.e, c.x(), ops::expand_dims(c.e, masks, 1));
    auto [y, h, last] =
        ops::lstm(c.e, x, w.kernel, w.recurrent_kernel, w.bias, first[0], first[1], used, how.go_backwards);
    how.end(c, states, {h, last});
    ops::Id out = how.return_sequences ? y : h;
    if (how.zero_output_for_mask && used != ops::none)
      out = zeroed(c, out, used);
    else if (!how.return_sequences && used != ops::none && first[0] != ops::none)  // the output starts at 0, h does not
      out = ops::select(c.e, ops::reduce(c.e, ops::Reduce::max, used, {1}, true), out, c.e.scalar(0));
    c.penalize(cell.weights.activity_regularizer, out);
    std::vector<Symbol> outputs{{out, how.return_sequences ? c.mask() : ops::none}};
    for (ops::Id s : {h, last}) {
      if (!how.return_state) break;
      c.penalize(cell.weights.activity_regularizer, s);
      outputs.push_back({s});
    }
    return outputs;
  }

 private:
  ops::Id zeroed(Call &c, ops::Id out, ops::Id mask) const {
    if (how.return_sequences) return where_valid(c.e, how.go_backwards ? ops::flip(c.e, mask, 1) : mask, out, 0);
    ops::Id last = ops::slice(c.e, mask, 1, how.go_backwards ? 0 : -1, 1);
    return ops::select(c.e, last, out, c.e.scalar(0));
  }
};

struct LSTMCell : OneStep<LstmCell> {
  static constexpr const char *doc = "One step of an LSTM.";
};

struct GruCell : CellAttributes {
  static constexpr int64_t gates = 3;
  bool reset_after = true;

  void fields(Fields &f) {
    CellAttributes::fields(f, gates);
    f("reset_after", reset_after,
      "whether the reset gate comes after the product with the recurrent kernel; then each product has a bias");
  }

  std::vector<Shape> states() const { return {Shape{units}}; }
  static std::vector<Port> ports() {
    return {{"kernel", "(I, 3 units)"},
            {"recurrent_kernel", "(units, 3 units)"},
            {"bias", "(2, 3 units): of the inputs, of the state; without reset_after (3 units)", "use_bias"}};
  }

  Cell call(Call &c) const {
    const int64_t all = checked_mul(gates, units);
    const Id w = weights.kernel(c, {c.last_dim(), all}), r = recurrent_kernel(c, gates);
    Id b = ops::none, recurrent_b = ops::none;
    if (weights.use_bias) {
      const Shape shape = reset_after ? Shape{2, all} : Shape{all};
      b = c.weight("bias", shape, weights.bias_initializer, weights.bias_regularizer, weights.bias_constraint);
      if (reset_after) {
        const Id both = ops::reshape(c.e, b, 0, {2 * all});
        recurrent_b = ops::view(c.e, both, all, {all});
        b = ops::view(c.e, both, 0, {all});
      }
    }
    const Id masks = input_masks(c, gates), h_masks = recurrent_masks(c, gates);
    return {states(), [=, this](const Inside &in, Id x, const Ids &states) {
              auto here = [&](Id v) { return v == ops::none ? v : in.constant(v); };
              if (is_plain()) {
                const Id from_x = ops::matmul(in.e, masked_for(in.e, x, here(masks), 0), here(w), {}, here(b));
                const Id from_h = ops::matmul(in.e, states[0], here(r), {}, here(recurrent_b));
                const Id h = ops::gru_cell(in.e, from_x, from_h, states[0]);
                return Cell::Step{h, {h}};
              }
              const Ids from_x = products_by_gate(in.e, x, here(masks), here(w), here(b), units, gates);
              const Id h = step(in.e, from_x, states[0], here(r), here(recurrent_b), here(h_masks));
              return Cell::Step{h, {h}};
            }};
  }

 private:
  // Whether one op can do everything but the products.
  bool is_plain() const {
    return reset_after && recurrent_dropout == 0 && (implementation == 2 || dropout == 0) &&
           activation.name() == "tanh" && recurrent_activation.name() == "sigmoid";
  }
  Id step(Emit &e, const Ids &x, Id h, Id r, Id bias, Id masks) const {
    auto gate = [&](Id from_x, Id from_h) { return recurrent_activation(e, ops::add(e, from_x, from_h)); };
    const int64_t with_h = reset_after ? 3 : 2;  // number of gates whose product uses the unmodified h
    Ids parts;
    if (masks == ops::none) {
      const Id inner = ops::matmul(e, h, gate_of(e, r, units, 0, with_h), {}, bias);
      for (int64_t g = 0; g < with_h; ++g) parts.push_back(gate_of(e, inner, units, g));
    } else {
      for (int64_t g = 0; g < with_h; ++g)
        parts.push_back(ops::matmul(e, masked_for(e, h, masks, g), gate_of(e, r, units, g), {},
                                    bias == ops::none ? bias : gate_of(e, bias, units, g)));
    }
    const Id z = gate(x[0], parts[0]), reset = gate(x[1], parts[1]);
    const Id inner = reset_after
                         ? ops::mul(e, reset, parts[2])
                         : ops::matmul(e, ops::mul(e, reset, masked_for(e, h, masks, 2)), gate_of(e, r, units, 2));
    const Id candidate = activation(e, ops::add(e, x[2], inner));
    return ops::add(e, candidate, ops::mul(e, z, ops::sub(e, h, candidate)));
  }
};

struct GRU : RecurrentLayer<GruCell> {
  static constexpr const char *doc =
      "Gated recurrent units over (batch, time, features). Gates in the order z, r, h; "
      "h = z * h' + (1 - z) * candidate. At a masked step the state stays and the output repeats.";
};
struct GRUCell : OneStep<GruCell> {
  static constexpr const char *doc = "One step of a GRU.";
};

struct SimpleCell : CellAttributes {
  static constexpr int64_t gates = 1;

  void fields(Fields &f) { CellAttributes::fields(f, gates); }
  std::vector<Shape> states() const { return {Shape{units}}; }
  static std::vector<Port> ports() {
    return {{"kernel", "(I, units)"}, {"recurrent_kernel", "(units, units)"}, {"bias", "(units)", "use_bias"}};
  }

  Cell call(Call &c) const {
    const Id w = weights.kernel(c, {c.last_dim(), units}), r = recurrent_kernel(c, gates), b = weights.bias(c, units);
    const Id masks = input_masks(c, gates), h_masks = recurrent_masks(c, gates);
    return {states(), [=, this](const Inside &in, Id x, const Ids &states) {
              auto here = [&](Id v) { return v == ops::none ? v : in.constant(v); };
              const Id from_x = ops::matmul(in.e, masked_for(in.e, x, here(masks), 0), here(w), {}, here(b));
              const Id from_h = ops::matmul(in.e, masked_for(in.e, states[0], here(h_masks), 0), here(r));
              const Id h = activation(in.e, ops::add(in.e, from_x, from_h));
              return Cell::Step{h, {h}};
            }};
  }
};

struct SimpleRNN : RecurrentLayer<SimpleCell> {
  static constexpr const char *doc =
      "Recurrence over (batch, time, features): h = activation(x kernel + h' recurrent_kernel + bias). At a masked "
      "step the state stays and the output repeats. Its activity_regularizer, which Keras 3.15.1 loses, is a penalty.";
};
struct SimpleRNNCell : OneStep<SimpleCell> {
  static constexpr const char *doc = "One step of a SimpleRNN.";
};

// Attributes that both layers must have, as recurrent layers do.
constexpr const char *direction = "go_backwards";
constexpr const char *common[] = {"stateful", "return_sequences", "return_state"};

bool flag_of(const InnerLayer &layer, const char *key) { return layer->config()[key].get<bool>(); }

struct Bidirectional : Layer {
  static constexpr const char *doc =
      "A recurrent layer over (batch, time, features) in both directions, the outputs merged. The halves are named "
      "forward_ and backward_; under a mask with return_sequences the output of a masked step is 0.";
  enum class Merge { concat, sum, mul, ave, none };
  InnerLayer layer, backward_layer;
  Merge merge_mode = Merge::concat;

  void fields(Fields &f) override {
    f("layer", layer, "the recurrent layer, an LSTM for example")
        .required(R"({"class_name": "LSTM", "config": {"units": 4}})");
    f("merge_mode", merge_mode, {"concat", "sum", "mul", "ave"},
      "what becomes of the two outputs; null: both stay, the forward one first")
        .null_means(Merge::none);
    f("backward_layer", backward_layer, "the layer of the other direction; null: one like `layer`, with go_backwards");
  }
  Facts facts() const override {
    const bool alone = !layer || by_sample(*layer.kind);
    return PlainFacts{
        .inputs = {{"x", "(B, T, I)"}},
        .outputs = {{"y", text(alone ? "(B, ...)" : "(...)",
                               " as of the inner layer; with concat its last axis is twice as long")},
                    {"y_backward", "(B, ...) as of the backward layer", "merge_mode null"},
                    {"states", "(B, ...) of the forward layer, then of the backward one", "return_state"}},
        .weights = {{"weights", "those of the forward layer, then those of the backward one"}},
        .arguments = {mask_argument,
                      {"initial_state", "tensors", "those of the forward layer, then those of the backward one"}},
        .inside = {{"layer", "forward_layer"}, {"backward_layer", "backward_layer"}},
        .mask = mask_of_run};
  }

  void check() override {
    need_recurrent("layer", layer);
    layer = named("forward_", layer, Json::object());
    if (backward_layer) {
      need_recurrent("backward_layer", backward_layer);
      backward_layer = with_zeros(backward_layer, backward_layer.name, Json::object());
    } else {
      backward_layer = layer;
      backward_layer.name = without("forward_", layer.name);
      backward_layer = named("backward_", backward_layer, {{direction, true}});
    }
    if (flag_of(layer, direction) == flag_of(backward_layer, direction))
      refuse_attribute("backward_layer", "expected another go_backwards than of the forward layer, got ",
                       Json(flag_of(backward_layer, direction)).shown(), " of both");
    for (const char *key : common)
      if (flag_of(layer, key) != flag_of(backward_layer, key))
        refuse_attribute("backward_layer", "expected ", key, " as of the forward layer, ",
                         Json(flag_of(layer, key)).shown(), ", got ", Json(flag_of(backward_layer, key)).shown());
  }

  std::vector<Symbol> call(Call &c) const override {
    const auto states = c.symbols("initial_state");
    const size_t half = states.size() / 2;
    const auto run = [&](const InnerLayer &inner, std::span<const Symbol> from) {
      Arguments arguments;
      if (const auto mask = c.symbols("mask"); !mask.empty()) arguments.symbols["mask"] = {mask.begin(), mask.end()};
      if (!states.empty()) arguments.symbols["initial_state"] = {from.begin(), from.end()};
      return c.run(inner, c.in, arguments);
    };
    std::vector<Symbol> forward = run(layer, states.first(half)), backward = run(backward_layer, states.subspan(half));
    const ops::Id mask = forward[0].mask;
    if (flag_of(layer, "return_sequences")) backward[0].value = ops::flip(c.e, backward[0].value, 1);
    std::vector<Symbol> out;
    if (merge_mode == Merge::none)
      out = {{forward[0].value, mask}, {backward[0].value, mask}};
    else
      out = {{merged(c.e, forward[0].value, backward[0].value), mask}};
    out.insert(out.end(), forward.begin() + 1, forward.end());
    out.insert(out.end(), backward.begin() + 1, backward.end());
    return out;
  }

 private:
  static void need_recurrent(const char *key, const InnerLayer &inner) {
    if (!inner) refuse_attribute(key, "expected a recurrent layer, got null");
    const Json config = inner->config();
    if (!config.contains(direction)) refuse_attribute(key, "expected a recurrent layer, got ", inner->entry().name);
  }
  static std::string without(const std::string &prefix, const std::string &name) {
    return name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name;
  }
  static InnerLayer named(const std::string &prefix, const InnerLayer &inner, const Json &changes) {
    return with_zeros(inner, prefix + without(prefix, inner.name), changes);
  }
  // Forced by Keras.
  static InnerLayer with_zeros(const InnerLayer &inner, const std::string &new_name, Json changes) {
    const Json config = inner->config();
    if (config.contains("zero_output_for_mask")) changes["zero_output_for_mask"] = config["return_sequences"];
    return inner.with(new_name, changes);
  }
  ops::Id merged(ops::Emit &e, ops::Id a, ops::Id b) const {
    switch (merge_mode) {
      case Merge::concat:
        return ops::concat(e, {a, b}, -1);
      case Merge::sum:
        return ops::add(e, a, b);
      case Merge::mul:
        return ops::mul(e, a, b);
      default:
        return ops::scale(e, ops::add(e, a, b), 0.5f);
    }
  }
};

// Limit for unrolling the steps.
constexpr int64_t most_steps = 10000;

// Detects layers that need a call per step: random numbers, penalties or moving statistics of each step.
class Probe final : public Host {
 public:
  explicit Probe(ops::Emit &e) : e_(e) {}
  Id weight(const WeightSpec &spec) override { return e_.state(spec.name, spec.dtype, spec.shape); }
  uint64_t random_seed(std::optional<int64_t>) override { return 0; }
  Id draws() override {
    by_step = true;
    return e_.state("draws", DType::i64, {});
  }
  void add_loss(Id) override { by_step = true; }
  void write(const std::string &, Id) override { by_step = true; }
  Id carried(const std::string &name, const Shape &shape, bool stateful) override {
    by_step |= stateful;
    return stateful ? e_.state(name, DType::f32, shape) : ops::none;
  }
  bool trainable(const std::string &) const override { return true; }

  bool by_step = false;

 private:
  ops::Emit &e_;
};

bool known(const Shape &s, int from) {
  for (int i = from; i < s.rank(); ++i)
    if (s[i] == free_dim) return false;
  return true;
}

Shape tail(const Shape &s, int from, std::initializer_list<int64_t> before) {
  std::vector<int64_t> dims(before);
  for (int i = from; i < s.rank(); ++i) dims.push_back(s[i]);
  return Shape(dims);
}

struct TimeDistributed : Layer {
  static constexpr const char *doc =
      "A layer at every time step of (batch, time, ...), with the same weights. As in Keras each step is a call: "
      "dropout draws anew at each, normalization sees the steps apart; activity penalties of the layer are left out.";
  InnerLayer layer;

  void fields(Fields &f) override {
    f("layer", layer, "the layer for one step, of one input")
        .required(R"({"class_name": "Dense", "config": {"units": 4}})");
  }
  Facts facts() const override {
    const bool alone = !layer || by_sample(*layer.kind);
    return PlainFacts{.inputs = {{"x", alone ? "(B, T, ...)" : "(...), of them T the second"}},
                      .outputs = {{"y", alone ? "(B, T, ...)" : "(...)"}},
                      .weights = {{"weights", "those of the inner layer"}},
                      .arguments = {{"mask", "tensor", "bool (B, T, ...); each step gets its part"}},
                      .inside = {{"layer", "layer"}},
                      .mask = "used by the inner layer; passed on where it has no more axes than the output"};
  }

  void check() override {
    layer.penalized = layer.carries = false;
    const Json config = layer ? layer->config() : Json::object();
    if (const Json *q = config.find("quantization"); q && !q->is_null())
      unsupported_attribute("layer", "a quantized layer is not supported here: Keras calls it without its scales");
    if (layer && layer->arity().least <= 1) return;
    refuse_attribute(
        "layer", "expected a layer of one input, got " + (layer ? layer->entry().name.c_str() : std::string("null")));
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 3);
    Id mask = mask_as_given(c);
    if (mask != ops::none && (c.e.rank(mask) < 2 || !compatible(c.e.shape(mask).first(2), c.shape().first(2))))
      fail(Code::shape_mismatch, "\"mask\": expected shape (batch, time, ...), got ", c.e.shape(mask),
           " for input 0 with shape ", c.shape());
    const Id y = one_call_does(c) ? at_once(c) : step_by_step(c);
    const auto fits = [&] {
      return c.e.rank(mask) <= c.e.rank(y) && compatible(c.e.shape(mask), c.e.shape(y).first(c.e.rank(mask)));
    };
    // A mask with more axes than the output says nothing about it; axes of size 1 carry no information.
    while (mask != ops::none && !fits() && c.e.rank(mask) > 2 && c.e.shape(mask).last() == 1)
      mask = ops::squeeze(c.e, mask, -1);
    return {{y, mask != ops::none && fits() ? mask : ops::none}};
  }

 private:
  // Step t of x and of its mask.
  Symbol step_of(Call &c, int64_t t) const {
    const auto at = [&](Id x) { return ops::squeeze(c.e, ops::slice(c.e, x, 1, t, 1), 1); };
    return {at(c.x()), mask_as_given(c) == ops::none ? ops::none : at(mask_as_given(c))};
  }
  bool one_call_does(Call &c) const {
    if (!by_sample(*layer.kind) || !known(c.shape(), 2)) return false;
    if (mask_as_given(c) != ops::none && !known(c.e.shape(mask_as_given(c)), 2)) return false;
    ops::Program program;
    ops::Emit e(program);
    Probe probe(e);
    const Shape s = c.shape();
    Symbol x{e.input("x", c.e.dtype(c.x()), tail(s, 2, {free_dim})), ops::none};
    if (mask_as_given(c) != ops::none)
      x.mask = e.input("mask", DType::boolean, tail(c.e.shape(mask_as_given(c)), 2, {free_dim}));
    const Arguments none;
    Call inside(e, probe, {x}, none, c.training());
    const Symbol y = single(inside.run(layer, {x}));
    return !probe.by_step && e.rank(y.value) >= 1 && known(e.shape(y.value), 1);
  }

  // The steps as samples.
  Id at_once(Call &c) const {
    const Shape s = c.shape();
    Symbol x{ops::reshape(c.e, c.x(), 0, tail(s, 2, {-1})), ops::none};
    if (mask_as_given(c) != ops::none)
      x.mask = ops::reshape(c.e, mask_as_given(c), 0, tail(c.e.shape(mask_as_given(c)), 2, {-1}));
    const Id y = single(c.run(layer, {x})).value;
    const Shape out = c.e.shape(y);
    if (s[1] > 0) return ops::reshape(c.e, y, 0, tail(out, 1, {-1, s[1]}));
    return ops::reshape_like(c.e, y, ops::fill(c.e, c.e.dtype(y), 0, c.x(), 2, tail(out, 1, {})));
  }

  Id step_by_step(Call &c) const {
    const Shape s = c.shape();
    if (s[1] == free_dim || s[1] < 1 || s[1] > most_steps)
      throw Error(Code::unsupported, text("input 0: layer \"", layer.name,
                                          "\" is called for each step, so their number must be known, 1 to ",
                                          most_steps, ". Full shape received: ", s))
          .with("expected", text("1 to ", most_steps, " steps"));
    std::vector<Id> steps;
    for (int64_t t = 0; t < s[1]; ++t)
      steps.push_back(ops::expand_dims(c.e, single(c.run(layer, {step_of(c, t)})).value, 1));
    return ops::concat(c.e, std::move(steps), 1);
  }

  Symbol single(const std::vector<Symbol> &out) const {
    if (out.size() != 1)
      refuse_attribute("layer", "expected a layer of one output, \"", layer.name, "\" has ", out.size());
    return out[0];
  }
};

}  // namespace

DL4_KINDS(cells, LSTM, LSTMCell, GRU, GRUCell, SimpleRNN, SimpleRNNCell)
DL4_KINDS(bidirectional, Bidirectional, TimeDistributed)

}  // namespace dl4::kinds
