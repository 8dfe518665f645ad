// Options for losses and metrics, and their ops; sums over batches, their names and results.
#include "train/objective.hpp"

#include <set>

#include "base/float_mode.hpp"

// Entries are kept as JSON, since their meaning depends on the model.
namespace dl4::kinds {
namespace {

template <class C>
Conversion entries(const char *type, const char *category) {
  using Entries = train::PerOutput<C>;
  return {type, category, [](const Json &j, void *to) { static_cast<Entries *>(to)->entries = j; },
          [](const void *from) { return static_cast<const Entries *>(from)->entries; }};
}

}  // namespace

template <>
const Conversion &conversion<train::PerOutput<Loss>>() {
  static const Conversion as = entries<Loss>("attrss", Loss::category);
  return as;
}
template <>
const Conversion &conversion<train::PerOutput<Metric>>() {
  static const Conversion as = entries<Metric>("attrss", Metric::category);
  return as;
}
template <>
const Conversion &conversion<train::PerOutput<double>>() {
  static const Conversion as = entries<double>("f64s", nullptr);
  return as;
}

}  // namespace dl4::kinds

namespace dl4::train {

using kinds::Loss;
using kinds::Metric;
using kinds::Of;

namespace {

constexpr char itself[] = "output";  // in place of a loss

// The mean of an output's values.
class OutputItself final : public Loss {
 public:
  kinds::Items items(ops::Emit &, ops::Id, ops::Id y_pred) const override { return {y_pred}; }
};

[[noreturn]] void refuse_output(const char *key, const std::string &name, const std::vector<std::string> &known) {
  throw Error(Code::invalid_argument, text('"', key, "\": the model has no output \"", name, '"'))
      .with("attribute", key)
      .suggest(name, known);
}

// By the names of the outputs; `all`: none may be omitted.
std::vector<Json> by_name(const Json &j, const char *key, const std::vector<std::string> &names, bool all) {
  for (const auto &[name, entry] : j.items())
    if (std::find(names.begin(), names.end(), name) == names.end()) refuse_output(key, std::string(name), names);
  std::vector<Json> list;
  for (const std::string &name : names) {
    const Json *entry = j.find(name);
    if (!entry && all) kinds::refuse_attribute(key, "expected an entry for output \"", name, "\", got none");
    list.push_back(entry ? *entry : Json());
  }
  return list;
}

bool is_by_name(const Json &j) { return j.is_object() && !j.find("class_name"); }

// One entry per output: from a list, from an object by output names or, with one output, from the entry itself.
std::vector<Json> per_output(const Json &j, const char *key, const std::vector<std::string> &names, bool all = true) {
  const size_t n = names.size();
  if (j.is_null()) return std::vector<Json>(n, nullptr);
  if (is_by_name(j)) return by_name(j, key, names, all);
  if (!j.is_array()) {
    if (n != 1) fail(Code::invalid_argument, '"', key, "\": expected a list of ", n, ", one for each output");
    return {j};
  }
  if (j.size() != n)
    fail(Code::invalid_argument, '"', key, "\": expected ", n, " entries, one for each output, got ", j.size());
  return {j.begin(), j.end()};
}

template <class C>
Of<C> parse_kind(const Json &j, const char *key) {
  try {
    if constexpr (std::is_same_v<C, Metric>)
      return kinds::metric_for(j);
    else
      return kinds::parse<C>(j);
  } catch (Error &error) {
    error.with("attribute", key).in(text('"', key, '"'));
    throw;
  }
}

void read_metrics(Objective &o, const PerOutput<Metric> &given, const char *key,
                  std::vector<Of<Metric>> OutputObjective::*to) {
  Json metrics = given.entries;
  if (metrics.is_null()) return;
  if (!metrics.is_array() && !is_by_name(metrics)) metrics = Json::array({metrics});
  bool nested = is_by_name(metrics) || (!metrics.empty() && (metrics[0].is_array() || o.names.size() > 1));
  auto lists = nested ? per_output(metrics, key, o.names, false) : std::vector<Json>{metrics};
  for (size_t i = 0; i < lists.size(); ++i) {
    Json list = lists[i].is_array() ? lists[i] : lists[i].is_null() ? Json::array() : Json::array({lists[i]});
    for (const Json &m : list) {
      (o.outputs[i].*to).push_back(parse_kind<Metric>(m, key));
      if (!o.outputs[i].loss) fail(Code::invalid_argument, '"', key, "\": output ", i, " has no loss and so no target");
      if (o.outputs[i].itself)
        fail(Code::invalid_argument, '"', key, "\": output ", i, " is minimised itself and has no target");
    }
  }
}

std::vector<std::string> names_of(const Objective::Options &options, const graph::Model &model) {
  std::vector<std::string> names = options.output_names;
  const size_t n = model.outputs().size();
  for (size_t i = 0; names.size() < n && options.output_names.empty(); ++i) names.push_back(model.output_name(i));
  if (names.size() != n)
    kinds::refuse_attribute("output_names", "expected ", n, ", one for each output, got ", names.size());
  for (size_t i = 0; i < n; ++i)
    if (names[i].empty() || std::find(names.begin(), names.begin() + static_cast<ptrdiff_t>(i), names[i]) !=
                                names.begin() + static_cast<ptrdiff_t>(i))
      kinds::refuse_attribute("output_names", "expected names that differ, got \"", names[i], '"');
  return names;
}

}  // namespace

void Objective::Options::fields(kinds::Fields &f) {
  f("loss", loss,
    "a loss for each output, or null, as a list or an object by outputs' names; of one output the loss itself")
      .required();
  f("loss_weights", loss_weights,
    "factors of the outputs' losses, as a list or an object by outputs' names; null is 1");
  f("metrics", metrics,
    "metrics, or a list of them for each output, or an object by outputs' names; they see no sample weights; "
    "\"accuracy\" chooses by the shapes");
  f("weighted_metrics", weighted_metrics, "metrics that see the sample weights, given as metrics are");
  f("output_names", output_names,
    "what the outputs are called in these objects, in logs and in history; empty: by the layers that give them");
}

Objective Objective::parse(const Options &options, const graph::Model &model) {
  Objective o;
  o.names = names_of(options, model);
  o.outputs.resize(o.names.size());
  auto losses = per_output(options.loss.entries, "loss", o.names);
  for (size_t i = 0; i < losses.size(); ++i) {
    o.outputs[i].itself = losses[i].is_string() && losses[i].get<std::string_view>() == itself;
    if (!o.outputs[i].itself) {
      o.outputs[i].loss = parse_kind<Loss>(losses[i], "loss");
      continue;
    }
    o.outputs[i].loss = std::make_shared<OutputItself>();
    if (DType dtype = model.graph().dtype(model.outputs()[i]); dtype != DType::f32)
      kinds::refuse_attribute("loss", "output \"", o.names[i], "\" cannot be minimised: expected float32, got ", dtype);
  }
  if (o.trained().empty())
    fail(Code::invalid_argument,
         "\"loss\": expected a loss for at least one output, or \"output\" for one to be minimised itself");
  if (const Json &weights = options.loss_weights.entries; !weights.is_null()) {
    auto list = per_output(weights, "loss_weights", o.names);
    try {
      for (size_t i = 0; i < list.size(); ++i)
        if (!list[i].is_null()) o.outputs[i].weight = kinds::from_json<double>(list[i]);
    } catch (Error &error) {
      throw error.with("attribute", "loss_weights").in("\"loss_weights\"");
    }
  }
  read_metrics(o, options.metrics, "metrics", &OutputObjective::metrics);
  read_metrics(o, options.weighted_metrics, "weighted_metrics", &OutputObjective::weighted_metrics);
  return o;
}

std::vector<size_t> Objective::trained() const {
  std::vector<size_t> list;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].loss) list.push_back(i);
  return list;
}

std::vector<size_t> Objective::targets() const {
  std::vector<size_t> list;
  for (size_t i : trained())
    if (!outputs[i].itself) list.push_back(i);
  return list;
}

namespace {

// The operands of an output's loss.
struct Compared {
  size_t output;
  ops::Id y_true, y_pred, weight, mask;
};

std::vector<Compared> compared(ops::Emit &e, const Objective &objective, const std::vector<kinds::Symbol> &outputs,
                               const std::vector<ops::Id> &y, const std::vector<ops::Id> &sample_weights) {
  std::vector<Compared> list;
  size_t target = 0;
  for (size_t i : objective.trained()) {
    const bool itself = objective.outputs[i].itself;
    auto [pred, mask] = outputs[i];
    ops::Id y_true = itself ? pred : y[target];
    if (e.rank(y_true) == 0) y_true = ops::broadcast_like(e, y_true, pred);
    list.push_back({i, y_true, pred, itself || sample_weights.empty() ? ops::none : sample_weights[target], mask});
    target += itself ? 0 : 1;
  }
  return list;
}

std::string scope(const OutputObjective &o) { return text("loss \"", o.itself ? itself : o.loss->entry().name, '"'); }

}  // namespace

Measures emit(ops::Emit &e, const Objective &objective, const std::vector<kinds::Symbol> &outputs,
              const std::vector<ops::Id> &y, const std::vector<ops::Id> &sample_weights,
              const std::vector<ops::Id> &penalties, const Common *common) {
  Measures m;
  std::vector<ops::Id> weighted;
  auto add_to_loss = [&](ops::Id v) { m.loss = m.loss == ops::none ? v : ops::add(e, m.loss, v); };
  size_t number = 0;
  for (const auto &[i, y_true, pred, weight, mask] : compared(e, objective, outputs, y, sample_weights)) {
    const OutputObjective &o = objective.outputs[i];
    e.scope = scope(o);
    ops::Id loss = common ? o.loss->part(e, y_true, pred, weight, mask, common->divisors[number++])
                          : o.loss->scalar(e, y_true, pred, weight, mask);
    if (outputs.size() > 1) m.losses.push_back(loss);
    add_to_loss(o.weight == 1 ? loss : ops::scale(e, loss, static_cast<float>(o.weight)));
    auto measure = [&, y_true = y_true, pred = pred, mask = mask](const Metric &metric, ops::Id w,
                                                                  std::vector<ops::Id> &to) {
      e.scope = text("metric \"", metric.entry().name, '"');
      for (ops::Id sum : metric.sums(e, y_true, pred, w, mask)) to.push_back(sum);
    };
    for (const auto &metric : o.metrics) measure(*metric, ops::none, m.sums);
    for (const auto &metric : o.weighted_metrics) measure(*metric, weight, weighted);
  }
  for (ops::Id penalty : penalties) add_to_loss(common ? ops::mul(e, penalty, common->share) : penalty);
  e.scope.clear();
  m.sums.insert(m.sums.end(), weighted.begin(), weighted.end());
  return m;
}

std::vector<ops::Id> emit_divisors(ops::Emit &e, const Objective &objective, const std::vector<kinds::Symbol> &outputs,
                                   const std::vector<ops::Id> &y, const std::vector<ops::Id> &sample_weights) {
  std::vector<ops::Id> divisors;
  for (const auto &[i, y_true, pred, weight, mask] : compared(e, objective, outputs, y, sample_weights)) {
    const OutputObjective &o = objective.outputs[i];
    e.scope = scope(o);
    try {
      divisors.push_back(o.loss->divisor(e, y_true, pred, weight, mask));
    } catch (Error &error) {
      throw error.in(e.scope);
    }
    for (const auto *metrics : {&o.metrics, &o.weighted_metrics})
      for (const auto &metric : *metrics)
        if (metric->joins_samples(e.rank(pred)))
          fail(Code::unsupported, "metric \"", metric->entry().name,
               "\": one number for the whole batch can't be computed part by part");
  }
  e.scope.clear();
  return divisors;
}

// ---- sums over batches
// -----------------------------------------------------------------------------------------------

void Sums::add(const Sums &o) {
  FlushToZero flush;
  if (empty()) {
    *this = o;
    return;
  }
  for (size_t i = 0; i < values.size(); ++i) values[i] += o.values[i];
}

namespace {

// Unique names of a history, where each name has a counterpart for validation.
class Names {
 public:
  bool taken(const std::string &name) const { return taken_.count(name) || taken_.count("val_" + name); }
  // The name, with a number appended if it is taken.
  std::string take(const std::string &wanted) {
    std::string name = wanted;
    for (int i = 1; taken(name); ++i) name = text(wanted, '_', i);
    taken_.insert({name, "val_" + name});
    return name;
  }

 private:
  std::set<std::string> taken_{"epoch", "val_epoch"};
};

Metric::Size size_of(const Metric &metric, const graph::Model &model, size_t output) {
  try {
    return metric.size(model.graph().shape(model.outputs()[output]));
  } catch (Error &error) {
    throw error.in(text("metric ", metric.entry().name, " of output \"", model.output_name(output), '"'));
  }
}

}  // namespace

void Results::add(const std::string &name, kinds::Of<Metric> metric, Metric::Size size) {
  const auto sums = static_cast<size_t>(size.sums), results = static_cast<size_t>(size.results);
  if (!metric) ++losses_;
  if (names_.size() + results > most)
    kinds::refuse_attribute("metrics", "with \"", name, "\" they are more than ", most, " numbers");
  for (size_t i = 0; i < results; ++i) names_.push_back(results == 1 ? name : text(name, '[', i, ']'));
  numbers_.resize(names_.size());
  rows_.push_back({std::move(metric), sums, results});
  sums_ += sums;
}

Results::Results(const Objective &objective, const graph::Model &model) {
  constexpr Metric::Size mean{2, 1};
  Names names;
  const std::vector<size_t> trained = objective.trained();
  const bool several = objective.outputs.size() > 1;
  auto prefix = [&](size_t output) { return several ? objective.names[output] + '_' : std::string(); };
  add(names.take("loss"), nullptr, mean);
  if (several)
    for (size_t i : trained) add(names.take(prefix(i) + "loss"), nullptr, mean);
  for (size_t i : trained)
    for (const auto &m : objective.outputs[i].metrics)
      add(names.take(prefix(i) + m->log_name()), m, size_of(*m, model, i));
  for (size_t i : trained)
    for (const auto &m : objective.outputs[i].weighted_metrics) {
      std::string name = prefix(i) + m->log_name();
      if (names.taken(name)) name = prefix(i) + "weighted_" + m->log_name();
      add(names.take(name), m, size_of(*m, model, i));
    }
}

std::optional<bool> Results::rises(size_t name) const {
  for (const Row &row : rows_) {
    if (name < row.results) return row.metric ? row.metric->rises() : false;
    name -= row.results;
  }
  return std::nullopt;
}

void Results::add_up(const float *measured, double rows, Sums &to) const {
  FlushToZero flush;
  to.values.clear();
  for (size_t i = 0; i < this->measured(); ++i) {
    const auto value = static_cast<double>(measured[i]);
    to.values.push_back(i < losses_ ? value * rows : value);
    if (i < losses_) to.values.push_back(rows);
  }
}

const std::vector<double> &Results::of(const Sums &sums) {
  FlushToZero flush;
  std::span<const double> from = sums.values;
  std::span<double> to = numbers_;
  for (const Row &row : rows_) {
    if (row.metric)
      row.metric->result(from.first(row.sums), to.first(row.results));
    else
      to[0] = kinds::quotient(from[0], from[1]);
    from = from.subspan(row.sums);
    to = to.subspan(row.results);
  }
  return numbers_;
}

}  // namespace dl4::train
