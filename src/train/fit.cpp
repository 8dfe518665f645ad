// Epochs over batches.
#include "train/fit.hpp"

#include <cstring>

#include "kinds/options.hpp"

namespace dl4::train {
namespace {

struct Fields : FitOptions {
  static auto fields() {
    using kinds::field;
    using O = FitOptions;
    return std::tuple{field("epochs", &O::epochs)
                          .otherwise(1)
                          .at_least(0)
                          .at_most(most_epochs)
                          .doc("number of the epoch to stop at, as in Keras"),
                      field("initial_epoch", &O::initial_epoch)
                          .otherwise(0)
                          .at_least(0)
                          .at_most(most_epochs)
                          .doc("number of the first epoch"),
                      field("validation_split", &O::validation_split)
                          .otherwise(0.0)
                          .at_least(0)
                          .at_most(1)
                          .doc("last part of the rows, kept for validation"),
                      field("validation_freq", &O::validation_freq)
                          .otherwise(1)
                          .at_least(1)
                          .doc("epochs from one validation to the next")};
  }
};

void look(const std::atomic<int32_t> *cancel) {
  if (cancel && cancel->load(std::memory_order_relaxed)) fail(Code::cancelled, "cancelled between two batches");
}

}  // namespace

FitOptions FitOptions::parse(const Json &options) {
  Fields f;
  kinds::read_fields(f, options.is_null() ? Json::object() : options);
  return f;
}

Json FitOptions::describe() { return kinds::describe_options<Fields>(); }

Sums evaluate(Trainer &t, Dataset &d, const std::atomic<int32_t> *cancel) {
  Sums sums;
  d.start(false, 0);
  for (Batch b; d.next(b);) {
    look(cancel);
    sums.add(t.evaluate(b, cancel));
  }
  if (sums.total.empty()) fail(Code::invalid_argument, "the data set is empty");
  return sums;
}

namespace {

Json go_on(Trainer &t, Dataset &data, Dataset *validation, const FitOptions &o, const Progress &progress,
           const std::atomic<int32_t> *cancel) {
  Dataset *train = &data;
  std::pair<std::unique_ptr<Dataset>, std::unique_ptr<Dataset>> parts;
  if (o.validation_split > 0) {
    if (validation) fail(Code::invalid_argument, "\"validation_split\" and a validation set were both given");
    parts = data.split(o.validation_split);
    train = parts.first.get();
    validation = parts.second.get();
  }
  Position &at = t.position;
  if (!at.in_fit) {
    at.in_fit = true;
    at.epoch = o.initial_epoch;
    at.batch = 0;
    at.sums = {};
    at.history = Json::object();
  }
  auto report = [&](Event event, int64_t step, int64_t total, const std::vector<double> &metrics) {
    if (progress && progress(event, step, total, metrics)) fail(Code::cancelled, "cancelled by the progress callback");
  };
  std::vector<std::string> names = t.metric_names();
  report(Event::train_begin, at.epoch, o.epochs, {});
  while (at.epoch < o.epochs) {
    report(Event::epoch_begin, at.epoch, o.epochs, {});
    train->start(true, at.epochs_seen);
    train->skip_to(at.batch);
    for (Batch b; train->next(b);) {
      look(cancel);
      at.sums.add(t.step(b, cancel));
      ++at.batch;
      report(Event::batch_end, at.batch, train->batches().value_or(-1), at.sums.means());
    }
    if (at.sums.total.empty()) fail(Code::invalid_argument, "the data set is empty");
    std::vector<double> metrics = at.sums.means();
    bool validate = validation && (at.epoch + 1) % o.validation_freq == 0;
    if (validate) {
      const Sums validated = evaluate(t, *validation, cancel);
      for (double v : validated.means()) metrics.push_back(v);
    }

    at.history["epoch"].push_back(at.epoch);
    for (size_t i = 0; i < metrics.size(); ++i)
      at.history[(i < names.size() ? "" : "val_") + names[i % names.size()]].push_back(metrics[i]);
    ++at.epoch;
    ++at.epochs_seen;
    at.batch = 0;
    at.sums = {};
    report(Event::epoch_end, at.epoch, o.epochs, metrics);
  }
  at.in_fit = false;
  report(Event::train_end, at.epoch, o.epochs, {});
  return at.history;
}

}  // namespace

Json fit(Trainer &t, Dataset &train, Dataset *validation, const FitOptions &options, const Progress &progress,
         const std::atomic<int32_t> *cancel) {
  t.need_weights();
  Position before = t.position;
  try {
    return go_on(t, train, validation, options, progress, cancel);
  } catch (const std::exception &e) {
    auto *error = dynamic_cast<const Error *>(&e);
    if (!error || error->code != Code::cancelled) t.position = std::move(before);
    throw;
  }
}

std::vector<Tensor> predict(runtime::Session &s, Dataset &d, const Memory &memory, const std::atomic<int32_t> *cancel) {
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
      if (expected[i].shape.rank() == 0 || expected[i].shape[0] != b.size())
        fail(Code::shape_mismatch, "predict: output ", i, " has shape ", expected[i].shape, " for ", b.size(), " rows");
      parts[i].push_back(make(expected[i].dtype, expected[i].shape));
      out.push_back({expected[i].dtype, expected[i].shape, parts[i].back().data.get(), nullptr});
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
    for (const Tensor &t : list) {
      if (int64_t n = t.bytes()) std::memcpy(to, t.data.get(), static_cast<size_t>(n));
      to += t.bytes();
    }
    bytes -= all.bytes();  // of the parts
    list.clear();
    whole.push_back(std::move(all));
  }
  return whole;
}

}  // namespace dl4::train
