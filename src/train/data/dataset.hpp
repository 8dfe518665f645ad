// Where batches come from: tensors cut into batches, or the user's callback.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "kinds/field.hpp"
#include "train/data/batch.hpp"

namespace dl4::train {

class Dataset {
 public:
  virtual ~Dataset() = default;
  // Starts a pass; with `shuffle` in the order of epoch number `epoch`. next() then gives this worker's part of each
  // batch, which may have no rows; a callback itself gives parts.
  virtual void start(bool shuffle, int64_t epoch, int64_t rank = 0, int64_t size = 1) = 0;
  // Continues with batch `index` of the pass.
  virtual void skip_to(int64_t index) = 0;
  // False at the end. The batch is valid until the next call.
  virtual bool next(Batch &b) = 0;
  virtual std::optional<int64_t> batches() const = 0;  // none when only the callback knows
  // Numbers by name that must be the same when a fit is resumed; null: unknown.
  virtual Json facts() const = 0;
  // The first and the last part: `fraction` of the rows, as Keras's validation_split cuts them before shuffling.
  virtual std::pair<std::unique_ptr<Dataset>, std::unique_ptr<Dataset>> split(double fraction) const = 0;
};

struct TensorsOptions {
  std::optional<int64_t> batch_size = 32;  // none: single samples, without an axis of the batch
  bool shuffle = true, drop_remainder = false;
  int64_t seed = 0;
  int64_t memory_limit = INT64_MAX;  // of a shuffled batch; no key of the options
  void fields(kinds::Fields &f);
  static TensorsOptions parse(const Json &options);
  static Json describe();  // as dl4_api_description() lists them
};

// A tensor of the user's, kept alive by `owner`.
struct Source {
  runtime::View view;
  std::shared_ptr<const void> owner;
};

// Refuses tensors with different numbers of rows. One of `w` may be absent, as in Batch.
std::unique_ptr<Dataset> from_tensors(std::vector<Source> x, std::vector<Source> y, std::vector<Source> w,
                                      const TensorsOptions &options);

// fill(index, batch): 0 = a batch, 1 = the end, anything else = failed. samples: each is one without an axis of the
// batch.
std::unique_ptr<Dataset> from_callback(std::function<int32_t(int64_t, Batch &)> fill, std::optional<int64_t> steps,
                                       bool samples = false);

}  // namespace dl4::train
