// RNN over any cell, and StackedRNNCells.
#include <algorithm>

#include "kinds/layers/core/body.hpp"
#include "kinds/layers/recurrent/recurrent.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

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
    f("cell", cell)
        .required(R"({"class_name": "GRUCell", "config": {"units": 4}})")
        .doc("the cell: SimpleRNNCell, GRUCell, LSTMCell, StackedRNNCells or GraphCell");
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
    f("cells", cells)
        .required(R"([{"class_name": "LSTMCell", "config": {"units": 4}}])")
        .doc("the cells, the first one first");
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
DL4_KINDS(rnn, RNN, StackedRNNCells)
}  // namespace dl4::kinds
