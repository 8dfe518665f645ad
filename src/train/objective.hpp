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
  bool itself = false;          // the output is what is minimised, and has no target
  double weight = 1;
  std::vector<kinds::Of<kinds::Metric>> metrics, weighted_metrics;  // only the latter see sample weights
};

// Options for all outputs: a list, an object by the outputs' names, or, with one output, the entry itself.
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
  // Refuses what does not fit the model.
  static Objective parse(const Options &options, const graph::Model &model);
  // Indices of the outputs that have a loss, and of those that have a target, in order.
  std::vector<size_t> trained() const;
  std::vector<size_t> targets() const;
};

// What all parts of a batch share when each is computed alone.
struct Common {
  std::vector<ops::Id> divisors;  // of the losses of all parts, by output that is trained
  ops::Id share = ops::none;      // of the rows of the batch, and so of the penalties
};

// What a batch measures.
struct Measures {
  ops::Id loss = ops::none;     // what is minimised, penalties included
  std::vector<ops::Id> losses;  // of each output, where there are several
  std::vector<ops::Id> sums;    // of the metrics
};

// y: one for each of targets(); sample_weights: the same, some of them none, or empty. common: null for a whole batch;
// else the measures of all parts add up to those of the batch.
Measures emit(ops::Emit &e, const Objective &objective, const std::vector<kinds::Symbol> &outputs,
              const std::vector<ops::Id> &y, const std::vector<ops::Id> &sample_weights,
              const std::vector<ops::Id> &penalties, const Common *common = nullptr);
// One for each output that is trained. Refuses losses and metrics that can't be computed part by part.
std::vector<ops::Id> emit_divisors(ops::Emit &e, const Objective &objective, const std::vector<kinds::Symbol> &outputs,
                                   const std::vector<ops::Id> &y, const std::vector<ops::Id> &sample_weights);

}  // namespace dl4::train
