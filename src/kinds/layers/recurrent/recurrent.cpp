// Runs a cell over a sequence, as a scan.
#include "kinds/layers/recurrent/recurrent.hpp"

#include "kinds/layers/core/masks.hpp"
#include "kinds/layers/random/dropping.hpp"
#include "ops/scan.hpp"

namespace dl4::kinds {

using ops::Emit;
using ops::Id;

namespace {

// (B, T, ...) as (T, B, ...), and back.
Id turned(Emit &e, Id x) {
  std::vector<int> order{1, 0};
  for (int a = 2; a < e.rank(x); ++a) order.push_back(a);
  return ops::transpose(e, x, order);
}

Id zeros(Emit &e, Id like, const Shape &tail) { return ops::fill(e, DType::f32, 0, like, 1, tail); }

// Initial bias: ones for the forget gate, the initializer's values for the other three.
class UnitForgetBias final : public Initializer {
 public:
  explicit UnitForgetBias(Of<Initializer> others) : others_(std::move(others)) {}
  bool is_random() const override { return others_->is_random(); }
  void fill(Tensor &t, const Seed &seed) const override {
    int64_t units = t.elements() / 4;
    float *bias = t.as<float>();
    // Two draws from one seed, like Keras: one gate, then two.
    auto draw = [&](int64_t n, float *to) {
      Tensor part = make_tensor(DType::f32, {n});
      others_->fill(part, seed);
      if (n > 0) std::memcpy(to, part.data.get(), static_cast<size_t>(part.bytes()));
    };
    draw(units, bias);
    std::fill(bias + units, bias + 2 * units, 1.0f);
    draw(2 * units, bias + 2 * units);
  }

 private:
  Of<Initializer> others_;
};

std::string tensors(size_t n) { return n == 1 ? "1 tensor" : text(n, " tensors"); }

}  // namespace

Cell::Step lstm_step(Emit &e, const Ids &from_x, const Ids &from_h, Id c, const Activation &activation,
                     const Activation &recurrent_activation) {
  auto gate = [&](size_t g, const Activation &f) { return f(e, ops::add(e, from_x[g], from_h[g])); };
  const Id kept = ops::mul(e, gate(1, recurrent_activation), c);
  const Id cell = ops::add(e, kept, ops::mul(e, gate(0, recurrent_activation), gate(2, activation)));
  const Id h = ops::mul(e, gate(3, recurrent_activation), activation(e, cell));
  return {h, {h, cell}};
}

void LstmBias::fields(Fields &f) { f("unit_forget_bias", unit_forget, "whether the forget gate's bias starts at 1"); }

void LstmBias::check(const KernelAndBias &weights) const {
  if (weights.use_bias && unit_forget && !weights.bias_initializer)
    refuse_attribute("bias_initializer", "expected an initializer with unit_forget_bias, got null");
}

Id LstmBias::ask(Call &c, const KernelAndBias &weights, int64_t units) const {
  if (!weights.use_bias) return ops::none;
  Of<Initializer> start = weights.bias_initializer;
  if (unit_forget) start = std::make_shared<UnitForgetBias>(std::move(start));
  return c.weight("bias", {checked_mul(4, units)}, start, weights.bias_regularizer, weights.bias_constraint);
}

std::vector<Symbol> CellLayer::call(Call &c) const {
  c.need_rank(0, rank());
  c.as_float(0);
  const auto fixed = c.symbols("constants");
  const bool all = std::none_of(fixed.begin(), fixed.end(), [](const Symbol &s) { return s.value == ops::none; });
  if (fixed.size() != constants() || !all)
    fail(Code::invalid_argument, "\"constants\": expected ", tensors(constants()), ", got ",
         all ? text(fixed.size()) : "null");
  Ids given = given_states(c, "states", states());
  if (given.empty())
    for (const Shape &s : states()) given.push_back(zeros(c.e, c.x(), s));
  const Cell cell = begin(c);
  const Cell::Step done = cell.step({c.e, [](Id v) { return v; }}, c.x(), given);
  std::vector<Symbol> outputs{{done.output}};
  for (Id s : done.states) outputs.push_back({s});
  return outputs;
}

Facts facts_of_cell(const std::string &states, std::vector<Port> weights) {
  Facts facts = PlainFacts{.inputs = {{"x", "(B, I)"}},
                           .outputs = {{"y", "(B, units)"}, {"states", states}},
                           .arguments = {{"states", "tensors", "those of the step before; zeros by default"}}};
  facts.weights = std::move(weights);
  return facts;
}

std::string told(size_t states, const std::string &step) {
  return text("(B, ", step, states == 1 ? "), h" : ") each, h and c");
}

Facts facts_of_run(const char *x, const std::string &step, size_t states, std::vector<Port> weights) {
  const std::string one = text("(B, ", step, ')');
  Facts facts = PlainFacts{
      .inputs = {{"x", x}},
      .outputs = {{"y", text(one, ", with return_sequences (B, T, ", step, ')')}, {"h", one, "return_state"}},
      .arguments = {mask_argument, {"initial_state", "tensors", told(states, step) + "; zeros by default"}},
      .inside = {{"", "cell"}},
      .mask = mask_of_run};
  facts.weights = std::move(weights);
  if (states > 1) facts.outputs.push_back({"c", one, "return_state"});
  return facts;
}

void Sequencing::fields(Fields &f) {
  f("return_sequences", return_sequences, "whether the output has every step or only the last");
  f("return_state", return_state, "whether the states are outputs too");
  f("go_backwards", go_backwards, "takes the steps from the last to the first; the output stays in that order");
  f("stateful", stateful,
    "whether a call begins with the states that the one before left, in training, evaluation and streams; the "
    "batch size must be known");
  f("unroll", unroll, "has no effect on the result");
  f("zero_output_for_mask", zero_output_for_mask, "whether the output of a masked step is 0");
}

Id Sequencing::mask(Call &c) const {
  Id mask = c.mask();
  if (mask != ops::none && c.e.rank(mask) != 2)
    fail(Code::shape_mismatch, "\"mask\": expected shape (batch, time), got ", c.e.shape(mask));
  return !c.symbols("initial_state").empty() && c.symbols("mask").empty() ? ops::none : mask;
}

Ids given_states(Call &c, const char *key, const std::vector<Shape> &states) {
  const auto given = c.symbols(key);
  if (given.empty()) return {};
  const std::string expected = tensors(states.size());
  if (given.size() != states.size())
    fail(Code::invalid_argument, '"', key, "\": expected ", expected, ", got ", given.size());
  Ids all;
  for (size_t i = 0; i < states.size(); ++i) {
    const Id s = given[i].value;
    if (s == ops::none) fail(Code::invalid_argument, '"', key, "\": expected ", expected, ", got null");
    const Shape wanted = states[i].inserted(0, c.shape()[0]);
    if (!compatible(c.e.shape(s), wanted))
      fail(Code::shape_mismatch, '"', key, "\": expected shape ", wanted, ", got ", c.e.shape(s));
    if (c.e.dtype(s) != DType::f32)
      fail(Code::invalid_argument, '"', key, "\": expected dtype=float32, found dtype=", c.e.dtype(s));
    all.push_back(s);
  }
  return all;
}

namespace {

std::string state_name(size_t i) { return i == 0 ? "rnn_state" : text("rnn_state_", i); }

}  // namespace

Ids Sequencing::begin(Call &c, const std::vector<Shape> &states) const {
  const int64_t batch = c.shape()[0];
  if (stateful && batch == free_dim)
    refuse_attribute("stateful", "expected a known batch size, got shape ", c.shape(), " of input 0");
  Ids first = given_states(c, "initial_state", states);
  const bool given = !first.empty();
  first.resize(states.size(), ops::none);
  for (size_t i = 0; i < states.size() && (stateful || !given); ++i) {
    const Id kept = c.host.carried(state_name(i), states[i].inserted(0, batch), stateful);
    if (!given) first[i] = kept;
  }
  return first;
}

void Sequencing::end(Call &c, const std::vector<Shape> &states, const Ids &last) const {
  if (!stateful && !c.symbols("initial_state").empty()) return;
  for (size_t i = 0; i < states.size(); ++i) c.host.carry(state_name(i), last[i], stateful);
}

std::vector<Symbol> Sequencing::run(Call &c, const Cell &cell, const Of<Regularizer> &activity) const {
  Emit &e = c.e;
  const Ids first = begin(c, cell.states);
  const bool from_zeros = std::all_of(first.begin(), first.end(), [](Id v) { return v == ops::none; });
  const Id used = mask(c);
  ops::Scan s(e);
  Ids states;
  for (size_t i = 0; i < cell.states.size(); ++i)
    states.push_back(s.state(first[i] == ops::none ? zeros(e, c.x(), cell.states[i]) : first[i]));
  // Values at masked steps must not leak into outputs or gradients.
  const Id x = s.each(turned(e, where_valid(e, used, c.x(), 0)), go_backwards);
  auto [out, next] = cell.step({s.body, [&](Id v) { return s.constant(v); }}, x, states);
  // The output is part of the state: it repeats at masked steps, and the last one may be all that is returned.
  size_t at = 0;
  while (at < next.size() && next[at] != out) ++at;
  const bool repeats_state = at < next.size() && (used == ops::none || (from_zeros && !zero_output_for_mask));
  if (used != ops::none) {
    const Id valid = s.each(turned(e, used), go_backwards);
    for (size_t i = 0; i < next.size(); ++i)
      next[i] = ops::select(s.body, spread(s.body, valid, s.body.rank(next[i])), next[i], states[i]);
    if (!repeats_state) {
      const Shape tail = s.body.shape(out).last(s.body.rank(out) - 1);
      const Id before = c.host.carried("rnn_output", tail.inserted(0, c.shape()[0]), false);
      states.push_back(s.state(before == ops::none ? zeros(e, c.x(), tail) : before));
      const Id otherwise = zero_output_for_mask ? s.body.scalar(0) : states.back();
      out = ops::select(s.body, spread(s.body, valid, s.body.rank(out)), out, otherwise);
    }
  } else if (!repeats_state) {
    states.push_back(s.state(zeros(e, c.x(), s.body.shape(out).last(s.body.rank(out) - 1))));
  }
  if (!repeats_state) {
    at = next.size();
    next.push_back(out);
  }
  for (size_t i = 0; i < states.size(); ++i) s.become(states[i], next[i]);
  const auto values = s.emit();
  end(c, cell.states, values.last);
  if (used != ops::none && !repeats_state) c.host.carry("rnn_output", values.last[at], false);

  std::vector<Symbol> outputs{
      {return_sequences ? turned(e, values.states[at]) : values.last[at], return_sequences ? c.mask() : ops::none}};
  for (size_t i = 0; return_state && i < cell.states.size(); ++i) outputs.push_back({values.last[i]});
  for (const Symbol &o : outputs) c.penalize(activity, o.value);
  return outputs;
}

void Recurrence::fields(Fields &f, int64_t gates) {
  f("activation", activation, "of the candidate for the new state");
  if (gates > 1) f("recurrent_activation", recurrent_activation, "of the gates");
  f("recurrent_initializer", recurrent_initializer, "fills the recurrent kernel at the start");
  f("recurrent_regularizer", recurrent_regularizer, "penalty on the recurrent kernel, added to the loss");
  f("recurrent_constraint", recurrent_constraint, "applied to the recurrent kernel after every update");
  f("dropout", dropout,
    gates > 1 ? "fraction of the input features to drop in training, the same at every step; 1 drops none, as in "
                "Keras"
              : "fraction of the input features to drop in training, the same at every step")
      .within(0, 1);
  f("recurrent_dropout", recurrent_dropout,
    gates > 1 ? "fraction of the state to drop in training, the same at every step, apart for each gate; 1 drops "
                "none, as in Keras"
              : "fraction of the state to drop in training, the same at every step")
      .within(0, 1);
  f("seed", seed, "seed of the dropout; null = from the context's");
  weights.fields(f);
}

Id Recurrence::recurrent_kernel(Call &c, const Shape &shape) const {
  return c.weight("recurrent_kernel", shape, recurrent_initializer, recurrent_regularizer, recurrent_constraint);
}

void CellAttributes::fields(Fields &f, int64_t gates) {
  f("units", units, "size of the output and of each state").required("4").within(1, max_dim / 4);
  Recurrence::fields(f, gates);
}

Id CellAttributes::recurrent_kernel(Call &c, int64_t gates) const {
  return Recurrence::recurrent_kernel(c, {units, checked_mul(gates, units)});
}

Id CellAttributes::input_masks(Call &c, int64_t gates) const {
  if (gates > 1 && dropout == 1) return ops::none;
  return keep_mask(c, dropout, seed, c.x(), 1, {checked_mul(drops_by_gate() ? gates : 1, c.last_dim())});
}

Id CellAttributes::recurrent_masks(Call &c, int64_t gates) const {
  if (gates > 1 && recurrent_dropout == 1) return ops::none;
  return keep_mask(c, recurrent_dropout, seed, c.x(), 1, {checked_mul(gates, units)}, 1);
}

Id gate_of(Emit &e, Id v, int64_t units, int64_t gate, int64_t count) {
  if (e.shape(v).last() == count * units) return v;
  return ops::slice(e, v, -1, gate * units, count * units);
}

Id masked_for(Emit &e, Id x, Id masks, int64_t gate) {
  return masks == ops::none ? x : ops::mul(e, x, gate_of(e, masks, e.shape(x).last(), gate));
}

Ids products_by_gate(Emit &e, Id x, Id masks, Id kernel, Id bias, int64_t units, int64_t gates) {
  Ids all;
  const bool one_mask = masks == ops::none || e.shape(masks).last() == e.shape(x).last();
  for (int64_t g = 0; g < gates; ++g) {
    Id part = bias == ops::none ? ops::none : gate_of(e, bias, units, g);
    Id seen = one_mask && g > 0 ? x : masked_for(e, x, masks, g);
    if (one_mask) x = seen;
    all.push_back(ops::matmul(e, seen, gate_of(e, kernel, units, g), {}, part));
  }
  return all;
}

}  // namespace dl4::kinds
