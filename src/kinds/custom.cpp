// A kind from outside: its numbers come from a function, its place in graphs and files is that of any other.
#include "kinds/custom.hpp"

#include "base/error.hpp"
#include "kinds/initializer.hpp"
#include "kinds/layer.hpp"
#include "kinds/metric.hpp"

namespace dl4::kinds {
namespace {

struct CustomEntry : Entry {
  CustomEntry(CustomKind kind, std::unique_ptr<Kind> (*fresh)(const Entry &))
      : Entry{kind.category == Layer::category ? Layer::category : Loss::category, kind.name, kind.doc, fresh},
        kind(std::move(kind)) {}
  const CustomKind kind;
};

struct CustomLayer : Layer {
  using Row = CustomEntry;
  const Row &row;
  std::string config;
  Of<Initializer> initializer = parse<Initializer>("GlorotUniform");
  std::shared_ptr<const ops::CustomFunction> function;

  explicit CustomLayer(const Row &row) : row(row) {}
  void fields(Fields &f) override {
    f("config", config).doc("what the functions are given");
    if (!row.kind.weights.empty()) f("initializer", initializer).doc("fills the weights at the start");
  }
  void check() override { function = row.kind.function(config); }
  Arity arity() const override { return {1, any_number}; }
  Facts facts() const override {
    Facts facts = PlainFacts{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}};
    for (const std::string &weight : row.kind.weights) facts.weights.push_back({weight.c_str(), "(...)"});
    return facts;
  }

  std::vector<Symbol> call(Call &c) const override {
    std::vector<ops::Id> src;
    for (const Symbol &s : c.in) src.push_back(s.value);
    const std::vector<Shape> shapes = function->infer(ops::operands(c.e.program, src));
    const size_t outputs = shapes.size() - row.kind.weights.size();
    for (size_t i = outputs; i < shapes.size(); ++i)
      src.push_back(c.weight(row.kind.weights[i - outputs].c_str(), shapes[i], initializer));
    std::vector<Symbol> out;
    for (ops::Id y : ops::custom(c.e, function, std::move(src))) out.push_back({y});
    return out;
  }
};

struct CustomLoss : Loss {
  using Row = CustomEntry;
  const Row &row;
  std::string config;
  std::shared_ptr<const ops::CustomFunction> function;

  explicit CustomLoss(const Row &row) : row(row) {}
  void fields(Fields &f) override {
    f("config", config).doc("what the functions are given");
    Loss::fields(f);
  }
  void check() override { function = row.kind.function(config); }
  Items items(ops::Emit &e, ops::Id y_true, ops::Id y_pred) const override {
    return {ops::custom(e, function, {y_true, y_pred})[0]};
  }
  Shape target_shape(const Shape &, const Shape &target) const override { return target; }
};

}  // namespace

void add_custom(CustomKind kind) {
  const std::string category = kind.category;
  const bool is_layer = category == Layer::category;
  const std::optional<bool> rises = kind.rises;
  const Entry &entry =
      kept(std::make_unique<CustomEntry>(std::move(kind), is_layer ? fresh<CustomLayer> : fresh<CustomLoss>));
  if (is_layer) return add({&entry});
  const Entry &mean = kept(std::make_unique<MeanOfLoss>(entry, entry.name, "", rises));
  if (category == Loss::category)
    add({&entry, &mean});
  else
    add({&mean});
}

}  // namespace dl4::kinds
