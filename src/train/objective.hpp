// What is minimised and measured: a loss and metrics for each output of a model.
// Measures summed over batches.
#pragma once

#include "graph/model.hpp"
#include "kinds/loss.hpp"

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

// For each row of Results, consecutively; empty before the first batch.
struct Sums {
  std::vector<double> values;

  bool empty() const { return values.empty(); }
  void add(const Sums &o);
};

// Results of the sums: the loss, each output's loss if there are several, and the metrics.
class Results {
 public:
  static constexpr size_t most = 4096;  // limit for the host's buffers, and for names in a history
  // Refuses metrics with more numbers.
  Results(const Objective &objective, const graph::Model &model);

  // As in Keras's logs: "loss", "<output>_loss", then each output's metrics. A duplicate name gets a number ("mae",
  // "mae_1"); a weighted metric first gets a prefix ("weighted_mae"). A metric of several numbers has a name for each:
  // "f1_score[0]".
  const std::vector<std::string> &names() const { return names_; }
  // Whether larger values of that name are better. None: unknown.
  std::optional<bool> rises(size_t name) const;
  size_t sums() const { return sums_; }
  // Number of measures of a batch: the losses, then the sums of the metrics.
  size_t measured() const { return sums_ - losses_; }
  // Adds the measures of a batch of so many rows; losses become totals.
  void add_up(const float *measured, double rows, Sums &to) const;
  // The results, in the order of names(); valid until the next call. Allocates nothing.
  const std::vector<double> &of(const Sums &sums);

 private:
  struct Row {
    kinds::Of<kinds::Metric> metric;  // null: a loss, with total and number of samples
    size_t sums, results;
  };
  void add(const std::string &name, kinds::Of<kinds::Metric> metric, kinds::Metric::Size size);

  std::vector<Row> rows_;
  std::vector<std::string> names_;
  std::vector<double> numbers_;
  size_t losses_ = 0, sums_ = 0;
};

}  // namespace dl4::train
