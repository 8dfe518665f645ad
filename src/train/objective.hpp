// What is minimised and measured: a loss and metrics for each output of a model.
#pragma once

#include <string>
#include <vector>

#include "graph/model.hpp"
#include "kinds/metric.hpp"

namespace dl4::train {

struct OutputObjective {
  kinds::Of<kinds::Loss> loss;  // null: this output is not trained
  bool itself = false;          // the output is what is minimised, and has no target
  double weight = 1;
  std::vector<kinds::Of<kinds::Metric>> metrics;
};

struct Objective {
  std::vector<OutputObjective> outputs;

  // From the trainer's options: loss, loss_weights, metrics. Refuses what does not fit the model.
  static Objective parse(const Json &options, const graph::Model &model);
  static Json describe_options();  // those keys, as dl4_api_description() lists them
  // Names as in Keras's logs: "loss", "<output>_loss" where there are several, then each output's metrics. One that is
  // taken gets a number, as there: "mae", "mae_1".
  std::vector<std::string> names(const graph::Model &model) const;
  // Indices of the outputs that have a loss, and of those that have a target, in order.
  std::vector<size_t> trained() const;
  std::vector<size_t> targets() const;
};

// Scalars of one batch in the order of names(): a mean is total / count over batches; a loss has its batch size as
// count.
struct Measures {
  ops::Id loss = ops::none;        // what is minimised, penalties included
  std::vector<kinds::Mean> means;  // all but "loss"; a loss's count is ops::none
};

// y: one target per entry of targets(); sample_weights: the same, some of them none, or empty.
Measures emit(ops::Emit &e, const Objective &objective, const std::vector<kinds::Symbol> &outputs,
              const std::vector<ops::Id> &y, const std::vector<ops::Id> &sample_weights,
              const std::vector<ops::Id> &penalties);

}  // namespace dl4::train
