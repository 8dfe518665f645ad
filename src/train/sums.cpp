// Sums over batches, their names and results.
#include "train/sums.hpp"

#include <set>

#include "base/error.hpp"
#include "base/float_mode.hpp"

namespace dl4::train {

using kinds::Metric;

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
