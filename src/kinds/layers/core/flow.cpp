// Cond, WhileLoop, Scan: inner layers that run conditionally or repeatedly. EnsureSize. RNN and StackedRNNCells: any
// layers as cells.

#include "kinds/layers/recurrent/recurrent.hpp"
#include "ops/scan.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id;

// Forwards a layer's requests to the host outside the body.
class BodyHost final : public Host {
 public:
  // inside: makes a value of the enclosing Program available in the body.
  BodyHost(Host &outside, std::function<ops::Id(ops::Id)> inside) : outside_(outside), inside_(std::move(inside)) {}
  ops::Id weight(const WeightSpec &spec) override { return inside_(outside_.weight(spec)); }
  uint64_t random_seed(std::optional<int64_t> own) override { return outside_.random_seed(own); }
  ops::Id draws() override { return inside_(outside_.draws()); }
  void add_loss(ops::Id) override { fail(Code::unsupported, "a cell can't add to the loss at every step"); }
  void write(const std::string &, ops::Id) override {
    fail(Code::unsupported, "a cell can't write weights at every step");
  }
  ops::Id carried(const std::string &, const Shape &, bool stateful) override {
    if (stateful) fail(Code::unsupported, "a cell can't be stateful: the layer that runs it is");
    return ops::none;
  }
  bool trainable(const std::string &inside) const override { return outside_.trainable(inside); }

 private:
  Host &outside_;
  const std::function<ops::Id(ops::Id)> inside_;
};

// Runs a layer inside a body. constant: makes a value of the enclosing Program available there.
Ids run_inside(Call &c, Emit &body, const InnerLayer &layer, const Ids &in, const std::function<Id(Id)> &constant) {
  BodyHost host(c.host, constant);
  const Arguments nothing;
  Call inside(body, host, {}, nothing, c.training());
  std::vector<Symbol> symbols;
  for (Id v : in) symbols.push_back({v});
  Ids out;
  for (const Symbol &s : inside.run(layer, std::move(symbols))) out.push_back(s.value);
  return out;
}

void need_layer(const InnerLayer &layer, const char *key) {
  if (!layer) refuse_attribute(key, "expected a layer, got null");
}

std::vector<Symbol> symbols_of(const Ids &values) {
  std::vector<Symbol> list;
  for (Id v : values) list.push_back({v});
  return list;
}

void need_inputs(const Call &c, int64_t least) {
  if (static_cast<int64_t>(c.in.size()) < least)
    fail(Code::invalid_argument, "expected at least ", least, " inputs, got ", c.in.size());
}

constexpr const char *minimal = R"({"class_name": "ReLU", "config": {}})";

struct Cond final : LayerOf<Cond> {
  static constexpr const char *doc =
      "Runs one of two layers, chosen by a flag when the model runs: keras.ops.cond. Inputs: the flag, the inputs of "
      "`then`, the inputs of `otherwise`. The layer that is not chosen may expect shapes that its inputs do not "
      "have. It has no gradient.";
  InnerLayer then, otherwise;
  int64_t inputs = 1;
  bool own_shapes = false;

  void fields(Fields &f) override {
    f("then", then, "the layer that runs if the flag is true").required(minimal);
    f("otherwise", otherwise, "the layer that runs if it is false").required(minimal);
    f("inputs", inputs, "how many of the inputs behind the flag are those of `then`").at_least(0);
    f("own_shapes", own_shapes,
      "whether the layers may give other shapes than each other: what follows is planned when one of them ran");
  }
  void check() override {
    need_layer(then, "then"), need_layer(otherwise, "otherwise");
    if (then.name == otherwise.name) otherwise = otherwise.with(then.name + "_otherwise", Json::object());
  }
  Arity arity() const override { return {1, any_number}; }
  static constexpr PlainFacts plain{
      .inputs = {{"flag", "()"}, {"inputs...", "(...)"}},
      .outputs = {{"outputs", "(...), those of the layers, which have the same shapes without `own_shapes`"}},
      .weights = {{"weights", "those of the layers, under their names"}}};
  std::vector<Symbol> call(Call &c) const override {
    need_inputs(c, 1 + inputs);
    ops::BodyWriter first(c.e), second(c.e);
    const auto part = [&](ops::BodyWriter &writer, const InnerLayer &layer, int64_t from, int64_t to) {
      Ids in;
      for (int64_t i = from; i < to; ++i) in.push_back(writer.constant(c.x(static_cast<int>(i))));
      return run_inside(c, writer.body, layer, in, [&](Id v) { return writer.constant(v); });
    };
    const Ids a = part(first, then, 1, 1 + inputs),
              b = part(second, otherwise, 1 + inputs, static_cast<int64_t>(c.in.size()));
    if (a.size() != b.size())
      fail(Code::invalid_argument, "expected layers of as many outputs, got ", a.size(), " and ", b.size());
    return symbols_of(ops::branch(c.e, c.x(), first, a, second, b, own_shapes));
  }
};

constexpr const char *minimal_step = R"({"class_name": "Functional", "config": {"model": {"format": 1,
    "inputs": [["step", 0, 0], ["x", 0, 0]], "outputs": [["y", 0, 0], ["more", 0, 0]], "layers": [
    {"class_name": "Input", "name": "step", "config": {"shape": [], "dtype": "int64"}},
    {"class_name": "Input", "name": "x", "config": {"shape": [null, 4], "dtype": "float32"}},
    {"class_name": "ReLU", "name": "y", "config": {}, "calls": [{"inputs": [["x", 0, 0]]}]},
    {"class_name": "Less", "name": "more", "config": {}, "calls": [{"inputs": [["step", 0, 0], ["step", 0, 0]]}]}]}}})";

struct WhileLoop final : LayerOf<WhileLoop> {
  static constexpr const char *doc =
      "Runs a layer repeatedly, each time on the states that it returned: keras.ops.while_loop. Inputs: the number "
      "of steps, if `counted`; a flag for the first step, if `flagged`; the states; values that are the same at "
      "every step. The layer takes the number of the step (int64), the states and these values. It returns the new "
      "states and, if the loop can end early, a flag for the next step. Outputs: the last states, in the shapes of "
      "the first ones. The context's `step_limit` ends one that goes on forever. It has no gradient.";
  InnerLayer body;
  int64_t states = 1;
  bool counted = false, flagged = false;

  void fields(Fields &f) override {
    f("body", body, "the layer").required(minimal_step);
    f("states", states, "how many states there are").at_least(0);
    f("counted", counted, "whether the first input is the number of steps, an int64");
    f("flagged", flagged, "whether the next input is the flag for the first step");
  }
  void check() override { need_layer(body, "body"); }
  Arity arity() const override { return {0, any_number}; }
  static constexpr PlainFacts plain{
      .inputs = {{"steps", "()", "counted"}, {"flag", "()", "flagged"}, {"inputs", "(...)"}},
      .outputs = {{"states", "(...)"}},
      .weights = {{"weights", "those of the layer, under its name"}}};
  std::vector<Symbol> call(Call &c) const override {
    const int64_t before = (counted ? 1 : 0) + (flagged ? 1 : 0), behind = before + states;
    need_inputs(c, behind);
    ops::While loop(c.e);
    Ids in{loop.step()};
    for (int64_t i = before; i < static_cast<int64_t>(c.in.size()); ++i) {
      const Id v = c.x(static_cast<int>(i));
      in.push_back(i < behind ? loop.state(v) : loop.constant(v));
    }
    Ids out = run_inside(c, loop.body(), body, in, [&](Id v) { return loop.constant(v); });
    const auto count = static_cast<size_t>(states);
    if (out.size() != count && out.size() != count + 1)
      fail(Code::invalid_argument, "\"body\": expected ", count, " outputs, or a flag more, got ", out.size());
    const Id more = out.size() > count ? out.back() : ops::none;
    out.resize(count);
    if (!counted && more == ops::none)
      fail(Code::invalid_argument, "expected a number of steps or a flag that \"body\" gives: it would not end");
    return symbols_of(loop.emit(out, counted ? c.x(0) : ops::none, flagged ? c.x(counted ? 1 : 0) : ops::none, more));
  }
};

struct Scan final : LayerOf<Scan> {
  static constexpr const char *doc =
      "Runs a layer for each element along the first axis of sequences: keras.ops.scan. Inputs: the states, the "
      "sequences (T, ...), values that are the same at every step. The layer takes the states, one element of each "
      "sequence and these values. It returns the new states and the values to stack. Outputs: the last states, then "
      "the stacked values (T, ...).";
  InnerLayer body;
  int64_t states = 1, sequences = 1;
  std::vector<int64_t> backwards, reversed;

  void fields(Fields &f) override {
    f("body", body, "the layer").required(R"({"class_name": "Add", "config": {}})");
    f("states", states, "how many states there are").at_least(0);
    f("sequences", sequences, "how many sequences there are").at_least(1);
    f("backwards", backwards, "numbers of the sequences that are read from their last element to their first");
    f("reversed", reversed, "numbers of the stacked outputs that start with the last step");
  }
  void check() override { need_layer(body, "body"); }
  Arity arity() const override { return {1, any_number}; }
  static constexpr PlainFacts plain{.inputs = {{"inputs...", "(...)"}},
                                    .outputs = {{"states", "(...)"}, {"stacked", "(T, ...)"}},
                                    .weights = {{"weights", "those of the layer, under its name"}}};
  std::vector<Symbol> call(Call &c) const override {
    need_inputs(c, states + sequences);
    ops::Scan scan(c.e);
    Ids in;
    for (int64_t i = 0; i < static_cast<int64_t>(c.in.size()); ++i) {
      const Id v = c.x(static_cast<int>(i));
      if (i < states)
        in.push_back(scan.state(v));
      else if (i < states + sequences)
        in.push_back(scan.each(v, has(backwards, i - states)));
      else
        in.push_back(scan.constant(v));
    }
    const Ids out = run_inside(c, scan.body, body, in, [&](Id v) { return scan.constant(v); });
    const auto count = static_cast<size_t>(states);
    if (out.size() < count)
      fail(Code::invalid_argument, "\"body\": expected at least ", count, " outputs, got ", out.size());
    for (size_t i = 0; i < out.size(); ++i)
      if (i < count)
        scan.become(in[i], out[i]);
      else
        scan.output(out[i], has(reversed, static_cast<int64_t>(i - count)));
    const auto values = scan.emit();
    Ids all = values.last;
    all.insert(all.end(), values.outputs.begin(), values.outputs.end());
    return symbols_of(all);
  }

 private:
  static bool has(const std::vector<int64_t> &list, int64_t n) {
    return std::find(list.begin(), list.end(), n) != list.end();
  }
};

struct EnsureSize final : LayerOf<EnsureSize> {
  static constexpr const char *doc =
      "Passes the first input on. A run is refused if the axis of the second input has another size.";
  int64_t axis = 1, size = 1;

  void fields(Fields &f) override {
    f("axis", axis, "the axis");
    f("size", size, "its size").within(0, max_dim);
  }
  Arity arity() const override { return {2, 2}; }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}, {"of", "(...)"}},
                                    .outputs = {{"y", "(...), that of x"}}};
  std::vector<Symbol> call(Call &c) const override {
    return {{ops::ensure_size(c.e, c.x(), c.x(1), c.shape(1).axis(axis), size)}};
  }
};

const CellLayer &as_cell(const InnerLayer &layer, const char *key) {
  if (auto *cell = dynamic_cast<const CellLayer *>(layer.kind.get())) return *cell;
  const std::string got = layer.kind ? layer.kind->entry().name : "null";
  refuse_attribute(key, "expected a cell, such as GRUCell, got ", got);
}

Cell::Step step_of(Call &c, const InnerLayer &cell, Id x, std::span<const Id> states,
                   std::span<const Symbol> constants) {
  Arguments arguments;
  if (!constants.empty()) arguments.symbols["constants"] = {constants.begin(), constants.end()};
  for (Id s : states) arguments.symbols["states"].push_back({s});
  const std::vector<Symbol> out = c.run(cell, std::vector<Symbol>{{x}}, arguments);
  Cell::Step step{out[0].value, {}};
  for (size_t i = 1; i < out.size(); ++i) step.states.push_back(out[i].value);
  return step;
}

struct RNN : Layer {
  static constexpr const char *doc =
      "Runs a cell over the steps of (batch, time, ...). At a masked step the states stay and the output repeats.";
  InnerLayer cell;
  Sequencing how;

  void fields(Fields &f) override {
    f("cell", cell, "the cell: SimpleRNNCell, GRUCell, LSTMCell, StackedRNNCells or GraphCell")
        .required(R"({"class_name": "GRUCell", "config": {"units": 4}})");
    how.fields(f);
  }
  void check() override { as_cell(cell, "cell"); }
  Facts facts() const override {
    const bool alone = !cell || by_sample(*cell.kind);
    return PlainFacts{
        .inputs = {{"x", "(B, T, I)"}},
        .outputs = {{"y", "(B, units), with return_sequences (B, T, units)"},
                    {"states", alone ? "(B, ...), those of the cell" : "those of the cell", "return_state"}},
        .weights = {{"weights", "those of the cell, under its name"}},
        .arguments = {mask_argument,
                      {"initial_state", "tensors", "those of the cell; zeros by default"},
                      constants_argument},
        .inside = {{"cell", "cell"}},
        .mask = mask_of_run};
  }
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 3);
    c.as_float(0);
    auto step = [&](const Inside &in, Id x, const Ids &states) {
      BodyHost host(c.host, in.constant);
      const Arguments none;
      Call inside(in.e, host, std::vector<Symbol>{{x}}, none, c.training());
      auto here = [&](Id v) { return v == ops::none ? v : in.constant(v); };
      std::vector<Symbol> constants;
      for (const Symbol &s : c.symbols("constants")) constants.push_back({here(s.value), here(s.mask)});
      return step_of(inside, cell, x, states, constants);
    };
    return how.run(c, {as_cell(cell, "cell").states(), step}, nullptr);
  }
};

struct StackedRNNCells : CellLayer {
  static constexpr const char *doc = "Cells one behind the other, as one cell for RNN.";
  std::vector<InnerLayer> cells;

  void fields(Fields &f) override {
    f("cells", cells, "the cells, the first one first")
        .required(R"([{"class_name": "LSTMCell", "config": {"units": 4}}])");
  }
  void check() override {
    if (cells.empty()) refuse_attribute("cells", "expected at least one cell, got []");
    for (const InnerLayer &cell : cells) as_cell(cell, "cells");
  }
  Facts facts() const override {
    const bool alone =
        std::all_of(cells.begin(), cells.end(), [](const InnerLayer &cell) { return by_sample(*cell.kind); });
    Facts facts = facts_of_cell(text(alone ? "(B, ...), " : "", "those of the first cell, then those of the next"),
                                {{"weights", "those of each cell, under its name"}});
    facts.arguments.push_back(constants_argument);
    facts.inside = {{"cells", "cells"}};
    return facts;
  }
  std::vector<Shape> states() const override {
    std::vector<Shape> all;
    for (const InnerLayer &cell : cells)
      for (const Shape &s : as_cell(cell, "cells").states()) all.push_back(s);
    return all;
  }
  size_t constants() const override {
    size_t all = 0;
    for (const InnerLayer &cell : cells) all += as_cell(cell, "cells").constants();
    return all;
  }
  int rank() const override { return as_cell(cells[0], "cells").rank(); }

 protected:
  Cell begin(Call &c) const override {
    return {states(), [&c, this](const Inside &, Id x, const Ids &states) {
              Cell::Step all{x, {}};
              auto constants = c.symbols("constants");
              for (const InnerLayer &cell : cells) {
                const CellLayer &kind = as_cell(cell, "cells");
                const Cell::Step step = step_of(
                    c, cell, all.output, std::span<const Id>(states).subspan(all.states.size(), kind.states().size()),
                    constants.first(kind.constants()));
                constants = constants.subspan(kind.constants());
                all.output = step.output;
                all.states.insert(all.states.end(), step.states.begin(), step.states.end());
              }
              return all;
            }};
  }
};

}  // namespace

DL4_KINDS(flow, Cond, WhileLoop, Scan, EnsureSize, RNN, StackedRNNCells)

}  // namespace dl4::kinds
