// Datasets of tensors, and of a callback.
#include "train/data/dataset.hpp"

#include <algorithm>
#include <numeric>

#include "base/float_mode.hpp"
#include "base/rng.hpp"

namespace dl4::train {
namespace {

class Tensors final : public Dataset {
 public:
  Tensors(std::vector<Source> x, std::vector<Source> y, std::vector<Source> w, const TensorsOptions &options,
          int64_t first, int64_t rows)
      : x_(std::move(x)),
        y_(std::move(y)),
        w_(std::move(w)),
        options_(options),
        batch_(options.batch_size.value_or(1)),
        first_(first),
        rows_(rows) {}

  void start(bool shuffle, int64_t epoch, int64_t rank, int64_t size) override {
    next_ = 0;
    rank_ = rank;
    size_ = size;
    order_.clear();
    if (!shuffle || !options_.shuffle) return;
    need_room();
    order_.resize(static_cast<size_t>(rows_));
    std::iota(order_.begin(), order_.end(), first_);
    dl4::shuffle({static_cast<uint64_t>(options_.seed), static_cast<uint64_t>(epoch)}, order_);
  }
  void skip_to(int64_t index) override { next_ = index; }

  bool next(Batch &b) override {
    if (next_ > rows_ / batch_) return false;  // a checkpoint may contain any index
    int64_t begin = next_ * batch_, n = std::min(batch_, rows_ - begin);
    if (n <= 0 || (options_.drop_remainder && n < batch_)) return false;
    ++next_;
    b.sample = !options_.batch_size;
    begin += n * rank_ / size_;
    n = n * (rank_ + 1) / size_ - n * rank_ / size_;
    size_t at = 0;
    auto cut = [&](const std::vector<Source> &sources, std::vector<runtime::View> &views) {
      views.clear();
      for (const Source &s : sources) {
        views.push_back(is_absent(s.view) ? s.view : rows(s.view, begin, n, at));
        ++at;
      }
    };
    cut(x_, b.x);
    cut(y_, b.y);
    cut(w_, b.w);
    return true;
  }

  std::optional<int64_t> batches() const override {
    return rows_ / batch_ + (!options_.drop_remainder && rows_ % batch_ ? 1 : 0);
  }

  Json facts() const override {
    return {{"rows", rows_},
            {"batches", *batches()},
            {"batch_size", options_.batch_size ? Json(*options_.batch_size) : Json()},
            {"shuffle", options_.shuffle},
            {"seed", options_.shuffle ? Json(options_.seed) : Json()}};
  }

  std::pair<std::unique_ptr<Dataset>, std::unique_ptr<Dataset>> split(double fraction) const override {
    FlushToZero flush;
    auto cut = static_cast<int64_t>(static_cast<double>(rows_) * (1 - fraction));
    if (cut == 0 || cut == rows_)
      fail(Code::invalid_argument, "\"validation_split\" ", fraction, " of ", rows_, " rows leaves ",
           cut == 0 ? "no training" : "no validation", " data");
    return {std::make_unique<Tensors>(x_, y_, w_, options_, first_, cut),
            std::make_unique<Tensors>(x_, y_, w_, options_, first_ + cut, rows_ - cut)};
  }

 private:
  int64_t batch_bytes(const runtime::View &v) const {
    return checked_mul(checked_mul(v.shape.elements(1, v.shape.rank()), size_of(v.dtype)), std::min(batch_, rows_));
  }

  // Memory for an order of the rows, and for a gathered batch.
  void need_room() const {
    int64_t bytes = checked_mul(rows_, sizeof(int64_t));
    for (const auto *sources : {&x_, &y_, &w_})
      for (const Source &s : *sources)
        if (!is_absent(s.view)) bytes = checked_add(bytes, batch_bytes(s.view));
    if (bytes > options_.memory_limit)
      fail(Code::out_of_memory, "a shuffled batch of this data set and the order of its rows take ", bytes,
           " bytes, the memory limit is ", options_.memory_limit);
  }

  // Rows [begin, begin + n) of the pass: in place, or gathered into buffer `at`.
  runtime::View rows(const runtime::View &v, int64_t begin, int64_t n, size_t at) {
    int64_t row = v.shape.elements(1, v.shape.rank()) * size_of(v.dtype);
    auto *from = static_cast<std::byte *>(v.data);
    const Shape shape = options_.batch_size ? v.shape.with(0, n) : v.shape.without(0);
    if (order_.empty()) return {v.dtype, shape, from + (first_ + begin) * row, nullptr};
    if (buffers_.size() <= at) buffers_.resize(at + 1);
    if (!buffers_[at]) buffers_[at] = allocate(batch_bytes(v));
    std::byte *to = buffers_[at].get();
    for (int64_t i = 0; i < n; ++i)
      std::memcpy(to + i * row, from + order_[static_cast<size_t>(begin + i)] * row, static_cast<size_t>(row));
    return {v.dtype, shape, to, nullptr};
  }

  std::vector<Source> x_, y_, w_;
  TensorsOptions options_;
  int64_t batch_, first_, rows_, next_ = 0, rank_ = 0, size_ = 1;
  std::vector<int64_t> order_;
  std::vector<Bytes> buffers_;
};

class Callback final : public Dataset {
 public:
  Callback(std::function<int32_t(int64_t, Batch &)> fill, std::optional<int64_t> steps, bool samples)
      : fill_(std::move(fill)), steps_(steps), samples_(samples) {}
  void start(bool, int64_t, int64_t, int64_t) override { next_ = 0; }
  void skip_to(int64_t index) override { next_ = index; }
  bool next(Batch &b) override {
    if (steps_ && next_ >= *steps_) return false;
    b.sample = samples_;
    int32_t answer = fill_(next_, b);
    if (answer == 1) return false;
    if (answer != 0)
      throw Error(Code::callback_failed, text("the batch callback gave ", answer, " at batch ", next_))
          .with("answer", std::to_string(answer));
    ++next_;
    return true;
  }
  std::optional<int64_t> batches() const override { return steps_; }
  Json facts() const override { return {{"batches", steps_ ? Json(*steps_) : Json()}}; }
  std::pair<std::unique_ptr<Dataset>, std::unique_ptr<Dataset>> split(double) const override {
    fail(Code::unsupported, "\"validation_split\" needs a data set made from tensors");
  }

 private:
  std::function<int32_t(int64_t, Batch &)> fill_;
  std::optional<int64_t> steps_;
  bool samples_;
  int64_t next_ = 0;
};

}  // namespace

void TensorsOptions::fields(kinds::Fields &f) {
  f("batch_size", batch_size,
    "rows of a batch; the last one may have fewer; null: each step gets one row, without an axis of the batch")
      .at_least(1);
  f("shuffle", shuffle, "new order for every epoch of fit");
  f("drop_remainder", drop_remainder, "leave out a last batch that is short");
  f("seed", seed, "of the orders");
}

Json TensorsOptions::describe() { return kinds::describe_fields<TensorsOptions>(); }

TensorsOptions TensorsOptions::parse(const Json &options) {
  TensorsOptions o;
  kinds::read_fields(o, options.is_null() ? Json::object() : options);
  return o;
}

std::unique_ptr<Dataset> from_tensors(std::vector<Source> x, std::vector<Source> y, std::vector<Source> w,
                                      const TensorsOptions &options) {
  if (x.empty()) fail(Code::invalid_argument, "a data set needs at least one input tensor");
  int64_t rows = -1;
  for (auto *list : {&x, &y, &w}) {
    for (Source &s : *list) {
      if (list == &w && is_absent(s.view)) continue;
      if (s.view.shape.rank() == 0) fail(Code::shape_mismatch, "a scalar has no rows");
      if (rows < 0) rows = s.view.shape[0];
      if (s.view.shape[0] != rows)
        fail(Code::shape_mismatch, "expected ", rows, " rows in every tensor, got shape ", s.view.shape);
      if (s.view.strides) fail(Code::unsupported, "a data set needs contiguous tensors");
    }
  }
  return std::make_unique<Tensors>(std::move(x), std::move(y), std::move(w), options, 0, rows);
}

std::unique_ptr<Dataset> from_callback(std::function<int32_t(int64_t, Batch &)> fill, std::optional<int64_t> steps,
                                       bool samples) {
  return std::make_unique<Callback>(std::move(fill), steps, samples);
}

}  // namespace dl4::train
