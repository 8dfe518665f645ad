// Batches as passed by the user.
// Sources of batches: tensors, or the user's callback.
#pragma once

#include <functional>
#include <optional>

#include "kinds/field.hpp"
#include "runtime/view.hpp"

namespace dl4::train {

// Whether this is an omitted sample weight. No other view has neither axes nor memory.
inline bool is_absent(const runtime::View &v) { return !v.data && v.shape.rank() == 0; }

// w is empty or has one element per target, some of them absent.
struct Batch {
  std::vector<runtime::View> x, y, w;
  bool sample = false;  // a single sample: its tensors have their own rows, or none, instead of a batch axis
  int64_t size() const { return x.empty() || x[0].shape.rank() == 0 ? 0 : x[0].shape[0]; }
};

// A trailing axis of size 1: losses may drop it, so it is part of a Program's key.
inline bool is_column(const Shape &s) { return s.rank() > 1 && s.last() == 1; }
// The properties of a target or sample weight on which a Program depends, as a number.
inline int32_t reading(const runtime::View &v) {
  return (static_cast<int32_t>(v.dtype) * (max_rank + 1) + v.shape.rank()) * 2 + (is_column(v.shape) ? 1 : 0);
}

class Dataset {
 public:
  virtual ~Dataset() = default;
  // Starts a pass; with `shuffle` in the order of epoch number `epoch`. next() then returns this worker's part of each
  // batch, which may be empty; a callback returns parts itself.
  virtual void start(bool shuffle, int64_t epoch, int64_t rank = 0, int64_t size = 1) = 0;
  // Continues with batch `index` of the pass.
  virtual void skip_to(int64_t index) = 0;
  // False at the end. The batch is valid until the next call.
  virtual bool next(Batch &b) = 0;
  virtual std::optional<int64_t> batches() const = 0;  // none: known only to the callback
  // Named numbers that must be the same when a fit is resumed; null: unknown.
  virtual Json facts() const = 0;
  // Splits off the last `fraction` of the rows, as Keras's validation_split does before shuffling.
  virtual std::pair<std::unique_ptr<Dataset>, std::unique_ptr<Dataset>> split(double fraction) const = 0;
};

struct TensorsOptions {
  std::optional<int64_t> batch_size = 32;  // none: single samples without a batch axis
  bool shuffle = true, drop_remainder = false;
  int64_t seed = 0;
  int64_t memory_limit = INT64_MAX;  // of a shuffled batch; not among the options
  void fields(kinds::Fields &f);
  static TensorsOptions parse(const Json &options);
  static Json describe();  // as in dl4_api_description()
};

// A tensor of the user, kept alive by `owner`.
struct Source {
  runtime::View view;
  std::shared_ptr<const void> owner;
};

// Refuses tensors with different numbers of rows. Elements of `w` may be absent, as in Batch.
std::unique_ptr<Dataset> from_tensors(std::vector<Source> x, std::vector<Source> y, std::vector<Source> w,
                                      const TensorsOptions &options);

// fill(index, batch) returns 0 for a batch, 1 at the end, other values for failures. samples: single samples without a
// batch axis.
std::unique_ptr<Dataset> from_callback(std::function<int32_t(int64_t, Batch &)> fill, std::optional<int64_t> steps,
                                       bool samples = false);

}  // namespace dl4::train
