// User-defined kinds: functions compute their numbers; in graphs and files they are like built-in kinds.
#include "kinds/custom.hpp"

#include "base/fork.hpp"
#include "kinds/layer.hpp"
#include "kinds/loss.hpp"

namespace dl4::kinds {
namespace {

// Lives as long as the process; its kind lives until it is removed or replaced.
struct CustomEntry : Entry {
  CustomEntry(CustomKind kind, std::unique_ptr<Kind> (*fresh)(const Entry &))
      : Entry{kind.category == Layer::category ? Layer::category : Loss::category, kind.name, kind.doc, fresh},
        kind_(std::make_shared<const CustomKind>(std::move(kind))) {}

  std::shared_ptr<const CustomKind> kind() const {
    std::lock_guard lock(mutex_);
    if (!kind_) throw Error(Code::unknown_kind, text(category, " \"", name, "\" was removed")).with("kind", name);
    return kind_;
  }
  void drop() const {
    std::shared_ptr<const CustomKind> last;
    std::lock_guard lock(mutex_);
    last.swap(kind_);
  }

 private:
  mutable Mutex mutex_;
  mutable std::shared_ptr<const CustomKind> kind_;
};

struct CustomLayer : Layer {
  using Row = CustomEntry;
  const std::shared_ptr<const CustomKind> kind;
  std::string config;
  Of<Initializer> initializer = parse<Initializer>("GlorotUniform");
  std::shared_ptr<const ops::CustomFunction> function;

  explicit CustomLayer(const Row &row) : kind(row.kind()) {}
  void fields(Fields &f) override {
    f("config", config, "what the functions are given");
    if (!kind->weights.empty()) f("initializer", initializer, "fills the weights at the start");
  }
  void check() override { function = kind->function(config); }
  Arity arity() const override { return {1, any_number}; }
  Facts facts() const override {
    Facts facts = PlainFacts{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}};
    for (const std::string &weight : kind->weights) facts.weights.push_back({weight.c_str(), "(...)"});
    return facts;
  }

  std::vector<Symbol> call(Call &c) const override {
    std::vector<ops::Id> src;
    for (const Symbol &s : c.in) src.push_back(s.value);
    const std::vector<Shape> shapes = function->infer(ops::operands(c.e.program, src));
    const size_t outputs = shapes.size() - kind->weights.size();
    for (size_t i = outputs; i < shapes.size(); ++i)
      src.push_back(c.weight(kind->weights[i - outputs].c_str(), shapes[i], initializer));
    std::vector<Symbol> out;
    for (ops::Id y : ops::custom(c.e, function, std::move(src))) out.push_back({y});
    return out;
  }
};

struct CustomLoss : Loss {
  using Row = CustomEntry;
  const std::shared_ptr<const CustomKind> kind;
  std::string config;
  std::shared_ptr<const ops::CustomFunction> function;

  explicit CustomLoss(const Row &row) : kind(row.kind()) {}
  void fields(Fields &f) override {
    f("config", config, "what the functions are given");
    Loss::fields(f);
  }
  void check() override { function = kind->function(config); }
  Items items(ops::Emit &e, ops::Id y_true, ops::Id y_pred) const override {
    return {ops::custom(e, function, {y_true, y_pred})[0]};
  }
  Shape target_shape(const Shape &, const Shape &target) const override { return target; }
};

// Frees what is no longer found. A metric's entry refers to its loss, which may still be registered under its own name.
void drop_unused(const Entry &e) {
  const Entry &own = e.category == Metric::category ? static_cast<const MeanOfLoss &>(e).loss : e;
  if (find_added(own.category, own.name) != &own) static_cast<const CustomEntry &>(own).drop();
}

}  // namespace

void add_custom(CustomKind kind) {
  const std::string category = kind.category;
  const bool is_layer = category == Layer::category;
  const std::optional<bool> rises = kind.rises;
  const Entry &entry =
      kept(std::make_unique<CustomEntry>(std::move(kind), is_layer ? fresh<CustomLayer> : fresh<CustomLoss>));
  Entries all, replaced;
  if (category != Metric::category) all.push_back(&entry);
  if (!is_layer) all.push_back(&kept(std::make_unique<MeanOfLoss>(entry, entry.name, "", rises)));
  for (const Entry *e : all)
    if (const Entry *before = find_added(e->category, e->name)) replaced.push_back(before);
  add(all);
  for (const Entry *e : replaced) drop_unused(*e);
}

void remove_custom(const std::string &category, const std::string &name) {
  const Entry *found = find_added(category, name);
  if (!found)
    throw Error(Code::unknown_kind, text("no ", category, " \"", name, "\" was added"))
        .with("category", category)
        .with("kind", name);
  remove(*found);
  if (const Entry *mean = category == Loss::category ? find_added(Metric::category, name) : nullptr)
    if (&static_cast<const MeanOfLoss &>(*mean).loss == found) remove(*mean);
  drop_unused(*found);
}

}  // namespace dl4::kinds
