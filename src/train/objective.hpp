// What is minimised and measured: a loss and metrics for each output of a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/model.hpp"
#include "kinds/field.hpp"
#include "kinds/metric.hpp"

namespace dl4::train {

struct OutputObjective {
  kinds::Of<kinds::Loss> loss;  // null: this output is not trained
  bool itself = false;          // minimises the output itself, without a target
  double weight = 1;
  std::vector<kinds::Of<kinds::Metric>> metrics, weighted_metrics;  // only the latter use sample weights
};

// Options for all outputs: a list, an object by output names, or with one output the entry itself.
template <class C>
struct PerOutput {
  Json entries;
};

struct Objective {
  std::vector<OutputObjective> outputs;
  std::vector<std::string> names;  // of the outputs, in options and logs

  struct Options {
    PerOutput<kinds::Loss> loss;
    PerOutput<double> loss_weights;
    PerOutput<kinds::Metric> metrics, weighted_metrics;
    std::vector<std::string> output_names;
    void fields(kinds::Fields &f);
  };
  // Refuses options that don't fit the model.
  static Objective parse(const Options &options, const graph::Model &model);
  // Indices of the outputs with a loss, and of those with a target, in order.
  std::vector<size_t> trained() const;
  std::vector<size_t> targets() const;
};

// Quantities shared by all parts of a batch that are computed separately.
struct Common {
  std::vector<ops::Id> divisors;  // of the losses over all parts, by trained output
  ops::Id share = ops::none;      // the part's share of the batch's rows, and so of the penalties
};

// The measures of a batch.
struct Measures {
  ops::Id loss = ops::none;     // to be minimised, including penalties
  std::vector<ops::Id> losses;  // by output, if there are several
  std::vector<ops::Id> sums;    // of the metrics
};

// y: one per targets(); sample_weights: the same with some none, or empty. common: null for a whole batch; else the
// measures of all parts sum to those of the batch.
Measures emit(ops::Emit &e, const Objective &objective, const std::vector<kinds::Symbol> &outputs,
              const std::vector<ops::Id> &y, const std::vector<ops::Id> &sample_weights,
              const std::vector<ops::Id> &penalties, const Common *common = nullptr);
// One per trained output. Refuses losses and metrics that can't be computed part by part.
std::vector<ops::Id> emit_divisors(ops::Emit &e, const Objective &objective, const std::vector<kinds::Symbol> &outputs,
                                   const std::vector<ops::Id> &y, const std::vector<ops::Id> &sample_weights);

}  // namespace dl4::train
