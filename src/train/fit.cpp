// The loop over epochs and batches, and the calls of callbacks.
#include "train/fit.hpp"

#include <cmath>

namespace dl4::train {
namespace {

using Place = Workers::Place;

// The callbacks of a fit, called in order. Their states are part of the fit's position.
class Callbacks final : kinds::Fit {
 public:
  // outside: null if no callback needs it.
  Callbacks(Trainer &t, const CallbackList &list, Outside *outside) : t_(t), list_(list), outside_(outside) {}

  // Before the position of the fit is determined, which a callback may restore.
  void prepare() {
    for (const auto &c : list_) c->prepare(*this);
  }
  void train_begin(bool resumed, int64_t epochs, bool validates) {
    epochs_ = epochs;
    names_ = t_.results().names();
    if (validates)
      for (const std::string &name : t_.results().names()) names_.push_back("val_" + name);
    const Json before = std::move(t_.position().callbacks);
    if (!resumed) t_.copies.forget();
    Json now = Json::array();
    std::vector<bool> again;
    for (size_t i = 0; i < list_.size(); ++i) {
      Json entry{{"kind", kinds::to_json(list_[i].get())}, {"state", Json::object()}};
      // The same kind at the same index keeps its state.
      const bool same = resumed && i < before.size() && before[i]["kind"] == entry["kind"];
      again.push_back(same);
      now.push_back(same ? before[i] : std::move(entry));
    }
    t_.position().callbacks = std::move(now);
    kinds::Moment at = moment();
    each([&](const kinds::Callback &c, Json &state) {
      at.resumed = again[at_];
      c.train_begin(*this, at, state);
    });
    begun_ = true;
  }
  void epoch_begin() {
    each([&](const kinds::Callback &c, Json &state) { c.epoch_begin(*this, moment(), state); });
  }
  void batch_end(const std::vector<double> &means) {
    if (list_.empty()) return;
    kinds::Logs logs;
    for (size_t i = 0; i < means.size(); ++i) logs.push_back({t_.results().names()[i], means[i]});
    each([&](const kinds::Callback &c, Json &state) { c.batch_end(*this, moment(), state, logs); });
    each([&](const kinds::Callback &c, Json &state) { c.settled(*this, moment(), state, false); });
  }
  void test_begin() {
    each([&](const kinds::Callback &c, Json &state) { c.test_begin(*this, state); });
  }
  void test_end() {
    each([&](const kinds::Callback &c, Json &state) { c.test_end(*this, state); });
  }
  // For the epoch that has ended; adds to the logs.
  void epoch_end(kinds::Logs &logs) {
    kinds::Moment ended = moment();
    --ended.epoch;
    each([&](const kinds::Callback &c, Json &state) { c.epoch_end(*this, ended, state, logs); });
  }
  void epoch_settled() {
    each([&](const kinds::Callback &c, Json &state) { c.settled(*this, moment(), state, true); });
  }
  void train_end() {
    each([&](const kinds::Callback &c, Json &state) { c.train_end(*this, moment(), state); });
    t_.position().callbacks = Json::array();
    t_.copies.forget();
  }

  bool stopped = false;
  bool failed = false;  // a callback failed: the fit keeps its position

 private:
  void stop() override { stopped = true; }
  double learning_rate() const override { return t_.get("learning_rate"); }
  void set_learning_rate(double v) override { t_.set("learning_rate", v); }
  bool has_schedule() const override { return t_.optimizer().learning_rate.schedule != nullptr; }
  void swap_averages() override { t_.averages.swap(); }
  void settle_averages() override { t_.averages.settle(); }
  bool has_averages() const override { return t_.averages.kept(); }
  void keep_weights() override { t_.copies.keep(at_); }
  void restore_weights() override { t_.copies.restore(at_); }
  const std::vector<std::string> &names() const override { return names_; }
  std::optional<bool> rises(const std::string &name) const override {
    const auto &all = t_.results().names();
    const std::string plain = name.starts_with("val_") ? name.substr(4) : name;
    const auto it = std::ranges::find(all, plain);
    if (it == all.end()) return std::nullopt;
    return t_.results().rises(static_cast<size_t>(it - all.begin()));
  }
  void say(const std::string &message) override { outside().say(message); }
  void expect_model(const std::string &path) const override { outside().expect_model(path); }
  void save_model(const std::string &path) override { outside().save_model(t_, path); }
  void save_place(const std::string &path) override { outside().save_checkpoint(t_, path); }
  bool restore_place(const std::string &path) override { return outside().load_checkpoint(t_, path); }
  void remove(const std::string &path) override { outside().remove(path); }
  void write(const std::string &path, const std::string &text, bool append) override {
    outside().write(path, text, append);
  }
  bool has_text(const std::string &path) const override { return outside().has_text(path); }

  Outside &outside() const {
    if (!outside_) fail(Code::internal, "a callback that writes files has no file system");
    return *outside_;
  }

  // f(callback, its state) for each.
  template <class F>
  void each(F f) {
    try {
      for (at_ = 0; at_ < list_.size(); ++at_) f(*list_[at_], t_.position().callbacks[at_]["state"]);
    } catch (...) {
      failed = begun_;
      throw;
    }
  }
  kinds::Moment moment() const { return {t_.position().epoch, t_.position().batch, epochs_, false}; }

  Trainer &t_;
  const CallbackList &list_;
  Outside *outside_;
  std::vector<std::string> names_;
  int64_t epochs_ = 0;
  size_t at_ = 0;       // index of the running callback
  bool begun_ = false;  // the fit has its position
};

double number(const runtime::View &v, int64_t offset) {
  switch (v.dtype) {
    case DType::f32:
      return static_cast<double>(static_cast<const float *>(v.data)[offset]);
    case DType::f64:
      return static_cast<const double *>(v.data)[offset];
    case DType::i32:
      return static_cast<double>(static_cast<const int32_t *>(v.data)[offset]);
    case DType::i64:
      return static_cast<double>(static_cast<const int64_t *>(v.data)[offset]);
    default:
      return static_cast<double>(static_cast<const uint8_t *>(v.data)[offset]);
  }
}

// The class of a row: its value, or the index of its largest element.
int64_t class_of(const runtime::View &y, int64_t row) {
  const auto dense = dense_strides(y.shape);
  const int64_t *strides = y.strides ? y.strides : dense.data();
  const int64_t begin = row * strides[0];
  if (y.shape.rank() == 1 || y.shape[1] == 1) return std::llrint(number(y, begin));
  int64_t best = 0;
  for (int64_t i = 1; i < y.shape[1]; ++i)
    if (number(y, begin + i * strides[1]) > number(y, begin + best * strides[1])) best = i;
  return best;
}

// Keras's class_weight: sample weights by class.
class ClassWeights {
 public:
  // By class index; classes without an entry weigh 1.
  explicit ClassWeights(std::vector<double> weights) : weights_(weights.begin(), weights.end()) {}
  // Sets the sample weights of a batch with one target: class indices (B) or (B, 1), or (B, classes), where the largest
  // element decides. They are valid until the next call. Refuses batches with sample weights. Allocates nothing once
  // the largest batch was seen.
  void apply(Batch &b) {
    if (std::any_of(b.w.begin(), b.w.end(), [](const auto &w) { return !is_absent(w); }))
      kinds::refuse_attribute("class_weight", "expected data without sample weights, got both");
    if (b.y.size() != 1) kinds::refuse_attribute("class_weight", "expected a model with one target, got ", b.y.size());
    const runtime::View &y = b.y[0];
    if (y.shape.rank() < 1 || y.shape.rank() > 2 || (y.shape.rank() == 2 && y.shape[1] == 0))
      kinds::refuse_attribute("class_weight", "expected targets (B), (B, 1) or (B, classes), got ", y.shape);
    of_samples_.resize(static_cast<size_t>(y.shape[0]));
    for (int64_t row = 0; row < y.shape[0]; ++row) {
      const int64_t c = class_of(y, row);
      const bool weighted = c >= 0 && c < static_cast<int64_t>(weights_.size());
      of_samples_[static_cast<size_t>(row)] = weighted ? weights_[static_cast<size_t>(c)] : 1;
    }
    b.w.assign(1, {DType::f32, Shape{y.shape[0]}, of_samples_.data(), nullptr});
  }

 private:
  std::vector<float> weights_, of_samples_;
};

// The next batch. False if the data end or this fit is stopped or cancelled; then all workers meet instead of making a
// step.
bool next(Trainer &t, Dataset &d, Batch &b, bool stopped, const std::atomic<int32_t> *cancel) {
  const bool more = !stopped && d.next(b);
  const bool cancelled = more && cancel && cancel->load(std::memory_order_relaxed);
  if (more && !cancelled) return true;
  t.meet(Place::data_end, (stopped ? Workers::stop : 0) | (cancelled ? Workers::cancel : 0));
  return false;
}

}  // namespace

void FitOptions::fields(kinds::Fields &f) {
  f("epochs", epochs, "number of the epoch to stop at, as in Keras").within(0, most_epochs);
  f("initial_epoch", initial_epoch, "number of the first epoch").within(0, most_epochs);
  f("resume", resume, "go on where the last fit stood; null: if a checkpoint was loaded in one");
  f("validation_split", validation_split, "last part of the rows, kept for validation").within(0, 1);
  f("callbacks", callbacks, "kinds that look at the fit; what one remembers is in checkpoints of it");
  f("validation_freq", validation_freq, "epochs from one validation to the next").at_least(1);
  f("average", average, "the averages that an optimizer with use_ema keeps become the weights at the end");
  f("class_weight", class_weight,
    "weights of samples by the number of their class, those past the list 1; not beside sample weights");
}

FitOptions FitOptions::parse(const Json &options) {
  FitOptions o;
  kinds::read_fields(o, options.is_null() ? Json::object() : options);
  return o;
}

Json FitOptions::describe() { return kinds::describe_fields<FitOptions>(); }

Sums evaluate(Trainer &t, Dataset &d, const std::atomic<int32_t> *cancel) {
  return t.workers().jointly([&] {
    Sums sums;
    d.start(false, 0, t.workers().rank(), t.workers().size());
    for (Batch b; next(t, d, b, false, cancel);) sums.add(t.evaluate(b, cancel));
    if (sums.empty()) fail(Code::invalid_argument, "the data set is empty");
    return sums;
  });
}

namespace {

void need_same_data(const Json &saved, const Json &now) {
  for (const auto &[key, value] : now.items()) {
    const Json *was = saved.find(key);
    if (!was || was->is_null() || value.is_null() || *was == value) continue;
    throw Error(Code::invalid_argument, text("the fit to be resumed was on other data: expected \"", key, "\" ",
                                             was->shown(), ", got ", value.shown()))
        .with("expected", was->shown())
        .with("got", value.shown());
  }
}

class Loop {
 public:
  Loop(Trainer &t, Dataset &train, Dataset *validation, const FitOptions &o, const Progress &progress,
       const std::atomic<int32_t> *cancel, Callbacks &callbacks)
      : t_(t),
        at_(t.position()),
        train_(&train),
        validation_(validation),
        o_(o),
        progress_(progress),
        cancel_(cancel),
        callbacks_(callbacks) {
    if (o.class_weight) weights_.emplace(*o.class_weight);
  }

  Json run() {
    if (o_.resume.value_or(true)) callbacks_.prepare();
    begin();
    report(Event::train_begin, at_.epoch, {});
    while (goes_on() && at_.epoch < o_.epochs) {
      callbacks_.epoch_begin();
      report(Event::epoch_begin, at_.epoch, {});
      if (goes_on()) epoch();
    }
    if (o_.average && o_.epochs > 0) t_.averages.take();
    callbacks_.train_end();
    at_.in_fit = false;
    report(Event::train_end, at_.epoch, {});
    t_.meet(Place::fit_end);
    return at_.history;
  }

 private:
  void begin() {
    if (o_.validation_split > 0) {
      if (validation_) fail(Code::invalid_argument, "\"validation_split\" and a validation set were both given");
      parts_ = train_->split(o_.validation_split);
      train_ = parts_.first.get();
      validation_ = parts_.second.get();
    }
    Json facts = train_->facts();
    const bool resumed = o_.resume.value_or(at_.resumes);
    if (resumed) {
      if (!at_.in_fit)
        fail(Code::invalid_argument, "\"resume\": expected a fit that was cancelled, or a checkpoint of one, got none");
      need_same_data(at_.data, facts);
    } else {
      at_ = {.in_fit = true, .epoch = o_.initial_epoch, .epochs_seen = at_.epochs_seen};
    }
    at_.resumes = false;
    at_.data = std::move(facts);
    callbacks_.train_begin(resumed, o_.epochs, validation_ != nullptr);
  }
  bool stopped() const { return stopped_ || callbacks_.stopped; }
  // A worker that stops, stops all.
  bool goes_on() {
    stopped_ |= !t_.meet(Place::epoch, stopped() ? Workers::stop : 0);
    return !stopped();
  }

  void epoch() {
    train_->start(true, at_.epochs_seen, t_.workers().rank(), t_.workers().size());
    train_->skip_to(at_.batch);
    for (Batch b; next(t_, *train_, b, stopped(), cancel_);) {
      if (weights_) weights_->apply(b);
      const Sums &sums = t_.step(b, cancel_);
      if (sums.empty()) {
        stopped_ = true;
        break;
      }
      at_.sums.add(sums);
      ++at_.batch;
      const std::vector<double> &results = t_.results().of(at_.sums);
      callbacks_.batch_end(results);
      report(Event::batch_end, at_.batch, results);
    }
    if (at_.sums.empty()) fail(Code::invalid_argument, "the data set is empty");
    std::vector<double> metrics = t_.results().of(at_.sums);
    if (validation_ && (at_.epoch + 1) % o_.validation_freq == 0) {
      const Sums sums = validated();
      for (double v : t_.results().of(sums)) metrics.push_back(v);
    }
    const std::vector<std::string> &names = t_.results().names();
    kinds::Logs logs;
    for (size_t i = 0; i < metrics.size(); ++i)
      logs.push_back({(i < names.size() ? "" : "val_") + names[i % names.size()], metrics[i]});
    end_epoch(logs);
    report(Event::epoch_end, at_.epoch, metrics);
  }

  Sums validated() {
    callbacks_.test_begin();
    Sums sums;
    try {
      sums = evaluate(t_, *validation_, cancel_);
    } catch (...) {
      callbacks_.test_end();
      throw;
    }
    callbacks_.test_end();
    return sums;
  }

  // Advances the position and writes the history even if a callback fails, so that the fit can be resumed.
  void end_epoch(kinds::Logs &logs) {
    const int64_t epoch = at_.epoch;
    ++at_.epoch;
    ++at_.epochs_seen;
    at_.batch = 0;
    at_.sums = {};
    auto write = [&] {
      at_.history["epoch"].push_back(epoch);
      for (const kinds::Logged &l : logs) at_.history[l.name].push_back(l.value);
    };
    try {
      callbacks_.epoch_end(logs);
    } catch (...) {
      write();
      throw;
    }
    write();
    callbacks_.epoch_settled();
  }

  void report(Event event, int64_t step, const std::vector<double> &metrics) {
    if (!progress_) return;
    const int64_t total = event == Event::batch_end ? train_->batches().value_or(-1) : o_.epochs;
    const int32_t answer = progress_(event, step, total, metrics);
    stopped_ |= answer == 1;
    if (answer != 0 && answer != 1)
      throw Error(Code::callback_failed, text("the progress callback gave ", answer, " in epoch ", at_.epoch))
          .with("answer", std::to_string(answer));
  }

  Trainer &t_;
  Position &at_;
  Dataset *train_, *validation_;
  std::pair<std::unique_ptr<Dataset>, std::unique_ptr<Dataset>> parts_;
  const FitOptions &o_;
  const Progress &progress_;
  const std::atomic<int32_t> *cancel_;
  std::optional<ClassWeights> weights_;
  Callbacks &callbacks_;
  bool stopped_ = false;
};

}  // namespace

Json fit(Trainer &t, Dataset &train, Dataset *validation, const FitOptions &options, const Progress &progress,
         const std::atomic<int32_t> *cancel, Outside *outside) {
  Position before = t.position();
  t.set_fitting(true);
  struct Ending {
    Trainer &t;
    ~Ending() { t.set_fitting(false); }
  } ending{t};
  return t.workers().jointly([&] {
    t.need_weights();
    Callbacks callbacks(t, options.callbacks, outside);
    try {
      return Loop(t, train, validation, options, progress, cancel, callbacks).run();
    } catch (const std::exception &e) {
      auto *error = dynamic_cast<const Error *>(&e);
      if (!callbacks.failed && (!error || error->code != Code::cancelled)) t.position() = std::move(before);
      throw;
    }
  });
}

std::vector<Tensor> predict(runtime::Executable &s, Dataset &d, const Memory &memory,
                            const std::atomic<int32_t> *cancel) {
  std::vector<std::vector<Tensor>> parts(s.program().outputs.size());
  int64_t bytes = 0;
  auto make = [&](DType dtype, const Shape &shape) {
    bytes = checked_add(bytes, checked_mul(shape.elements(), size_of(dtype)));
    s.need_room(bytes);
    return memory.tensor(dtype, shape);
  };
  d.start(false, 0);
  for (Batch b; d.next(b);) {
    std::vector<runtime::View> out;
    auto expected = s.outputs(b.x, cancel);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!b.sample && (expected[i].shape.rank() == 0 || expected[i].shape[0] != b.size()))
        fail(Code::shape_mismatch, "predict: output ", i, " has shape ", expected[i].shape, " for ", b.size(), " rows");
      const Shape &shape = expected[i].shape;  // a single sample has the shape of one row
      parts[i].push_back(make(expected[i].dtype, b.sample ? shape.inserted(0, 1) : shape));
      out.push_back({expected[i].dtype, shape, parts[i].back().data.get(), nullptr});
    }
    s.run(b.x, out, cancel);
  }
  std::vector<Tensor> whole;
  for (auto &list : parts) {
    if (list.empty()) fail(Code::invalid_argument, "the data set is empty");
    int64_t rows = 0;
    for (const Tensor &t : list) {
      if (t.shape.without(0) != list[0].shape.without(0))
        fail(Code::shape_mismatch, "predict: batches give outputs of ", list[0].shape, " and ", t.shape);
      rows += t.shape[0];
    }
    Tensor all = make(list[0].dtype, list[0].shape.with(0, rows));
    std::byte *to = all.data.get();
    for (const Tensor &t : list) to = std::ranges::copy(t.memory(), to).out;
    bytes -= all.bytes();  // for the parts
    list.clear();
    whole.push_back(std::move(all));
  }
  return whole;
}

}  // namespace dl4::train
