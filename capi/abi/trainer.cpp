// Trainers: steps, gradients, fit, checkpoints.
#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/cpu.hpp"
#include "base/hash.hpp"
#include "batches.hpp"
#include "io/file.hpp"
#include "io/formats.hpp"
#include "io/keras/store.hpp"
#include "options.hpp"
#include "outside.hpp"

namespace dl4::capi {
namespace {

// Holds everything that a trainer's call uses, even if a callback releases it.
class Working {
 public:
  Working(Entry &entry, dl4_trainer &t)
      : trainer_(&t), alone_(t.gate, "trainer"), weights_(*t.model->weights, "model") {
    entry.log_to(t.model->context->log);
  }

 private:
  Ref<dl4_trainer> trainer_;
  Gate::Alone alone_, weights_;
};

// Stores into the trainer's own batch, so that a step allocates nothing.
const train::Batch &batch(dl4_trainer &trainer, dl4_tensor *const *x, int64_t nx, dl4_tensor *const *y, int64_t ny,
                          dl4_tensor *const *w, int64_t nw) {
  auto take = [](std::vector<runtime::View> &views, dl4_tensor *const *list, int64_t n, const char *argument,
                 bool optional) {
    views.clear();
    for (dl4_tensor *t : array(list, n, argument))
      views.push_back(optional && !t ? runtime::View{} : element(t, argument, views.size()).view());
  };
  take(trainer.batch.x, x, nx, "x", false);
  take(trainer.batch.y, y, ny, "y", false);
  take(trainer.batch.w, w, nw, "w", true);
  return trainer.batch;
}

// Writes up to `cap` metrics, and their number; n may be NULL.
void give(const std::vector<double> &all, double *metrics, int64_t cap, int64_t *n) {
  auto size = static_cast<int64_t>(all.size());
  std::copy_n(all.begin(), std::min(size, cap), metrics);
  if (n) *n = size;
}

void need_metrics(const double *metrics, int64_t cap) { array(metrics, cap, "metrics"); }

// A step or an accumulation.
template <class F>
dl4_error *on_batch(const char *who, F work, dl4_trainer *t, dl4_tensor *const *x, int64_t nx, dl4_tensor *const *y,
                    int64_t ny, dl4_tensor *const *w, int64_t nw, double *metrics, int64_t cap, int64_t *n) {
  clear(n);
  return guard(who, [&](Entry &entry) {
    dl4_trainer &trainer = object(t, "trainer");
    Working working(entry, trainer);
    trainer.core.workers().jointly([&] {
      need_metrics(metrics, cap);
      give(trainer.core.results().of(work(trainer.core, batch(trainer, x, nx, y, ny, w, nw))), metrics, cap, n);
    });
  });
}

// Logs a line after each epoch.
class EpochLines {
 public:
  EpochLines(const Log &log, const std::vector<std::string> &names) : log_(log), names_(names) {}
  void hear(train::Event event, int64_t epoch, int64_t epochs, const std::vector<double> &metrics) {
    if (event == train::Event::epoch_begin) watch_.emplace();
    if (event != train::Event::epoch_end || !log_.takes(Log::info)) return;
    std::string line = text("epoch ", epoch, " of ", epochs, ": ", watch_->told());
    for (size_t i = 0; i < metrics.size(); ++i) {
      char value[32];
      std::snprintf(value, sizeof value, "%.6g", metrics[i]);
      line += text(", ", i < names_.size() ? "" : "val_", names_[i % names_.size()], ' ', value);
    }
    log_.write(Log::info, line);
  }

 private:
  const Log &log_;
  const std::vector<std::string> &names_;
  std::optional<Stopwatch> watch_;
};

uint32_t hash(std::string_view s) { return Fnv1a().add(s).folded(); }

// All workers continue from the state of rank 0.
void start(dl4_trainer &trainer, train::Workers &workers) {
  train::Trainer &core = trainer.core;
  std::string before = io::save_checkpoint(core), bytes;
  if (workers.rank() == 0) bytes.swap(before);
  const graph::Settings settings = core.model().graph().settings();
  const Json drawn{{"seed", settings.seed}, {"scheme", static_cast<int64_t>(settings.scheme)}};
  const std::string options = dump(core.options()) + text(' ', workers.shards());
  const std::string model = dump(graph::to_json(core.model().architecture())) + dump(drawn);
  train::Workers::Word word{.place = train::Workers::Place::start};
  word.same = {hash(text(version_text(), ' ', cpu::isa())), hash(options), hash(model), 0};
  word.own = {static_cast<int32_t>(bytes.size() >> 30), static_cast<int32_t>(bytes.size() & ((1 << 30) - 1))};
  workers.meet(word);
  const auto &own = workers.word(0).own;
  bytes.resize((static_cast<size_t>(own[0]) << 30) + static_cast<size_t>(own[1]));
  word.place = train::Workers::Place::loaded;
  workers.meet(word);
  workers.share(std::as_writable_bytes(std::span(bytes)));
  auto load = [&](const std::string &from) { io::load_checkpoint(core, io::Memory(std::as_bytes(std::span(from)))); };
  if (workers.rank() == 0) return static_cast<void>(workers.meet(word));
  load(bytes);
  try {
    workers.meet(word);
  } catch (const std::exception &) {
    load(before);
    throw;
  }
}

Batches ask_for(dl4_dataset &d, const dl4_trainer &t) {
  return {d, t.core.model().inputs().size(), t.core.targets(), true};
}

dl4_error *change_gradient(const char *who, dl4_trainer *t, const char *weight, const dl4_tensor *v, bool add) {
  return guard(who, [&](Entry &entry) {
    dl4_trainer &trainer = object(t, "trainer");
    std::string name = string(weight, "weight");
    const dl4_tensor &value = object(v, "value");
    Working working(entry, trainer);
    trainer.core.gradients.set(name, value.as_dense(), add);
  });
}

}  // namespace

std::string describe(dl4_trainer &t, int32_t format) {
  Gate::Reading reading(t.gate, "trainer");
  if (format == DL4_FORMAT_TEXT) return t.core.describe();
  if (format != DL4_FORMAT_JSON) refuse_format(Tag::trainer, format);
  Json j = {{"options", t.core.options()}, {"no_gradient", t.core.no_gradient()}};
  for (const char *key : {"learning_rate", "iterations", "epoch", "batch"}) j[key] = t.core.get(key);
  return dump(j);
}

}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_trainer_create(dl4_model *m, const char *options, dl4_trainer **out) {
  return produce(__func__, out, [&](Entry &entry) {
    dl4_model &model = object(m, "model");
    entry.log_to(model.context->log);
    const Json how = options ? json_options(options) : io::trainer_options(model.training);
    if (how.is_null())
      refuse_argument("options", "expected those of a trainer, got NULL for a model that was not compiled in Keras");
    Gate::Alone weights(*model.weights, "model");
    return new dl4_trainer(model, how);
  });
}

dl4_error *dl4_trainer_step(dl4_trainer *t, dl4_tensor *const *x, int64_t nx, dl4_tensor *const *y, int64_t ny,
                            dl4_tensor *const *w, int64_t nw, double *metrics, int64_t cap, int64_t *n) {
  auto step = [](train::Trainer & trainer, const train::Batch &b) -> auto & { return trainer.step(b); };
  return on_batch(__func__, step, t, x, nx, y, ny, w, nw, metrics, cap, n);
}

dl4_error *dl4_trainer_accumulate(dl4_trainer *t, dl4_tensor *const *x, int64_t nx, dl4_tensor *const *y, int64_t ny,
                                  dl4_tensor *const *w, int64_t nw, double *metrics, int64_t cap, int64_t *n) {
  auto accumulate = [](train::Trainer & trainer, const train::Batch &b) -> auto & { return trainer.accumulate(b); };
  return on_batch(__func__, accumulate, t, x, nx, y, ny, w, nw, metrics, cap, n);
}

dl4_error *dl4_trainer_apply(dl4_trainer *t) {
  return guard(__func__, [&](Entry &entry) {
    dl4_trainer &trainer = object(t, "trainer");
    Working working(entry, trainer);
    trainer.core.apply();
  });
}

dl4_error *dl4_trainer_get_gradient(const dl4_trainer *t, const char *weight, dl4_tensor **out) {
  return produce(__func__, out, [&] {
    const dl4_trainer &trainer = object(t, "trainer");
    std::string name = string(weight, "weight");
    Gate::Reading reading(trainer.gate, "trainer");
    return new dl4_tensor(trainer.core.gradients.mean(name));
  });
}

dl4_error *dl4_trainer_set_gradient(dl4_trainer *t, const char *weight, const dl4_tensor *v) {
  return change_gradient(__func__, t, weight, v, false);
}

dl4_error *dl4_trainer_add_gradient(dl4_trainer *t, const char *weight, const dl4_tensor *v) {
  return change_gradient(__func__, t, weight, v, true);
}

dl4_error *dl4_trainer_zero_gradients(dl4_trainer *t) {
  return guard(__func__, [&] {
    dl4_trainer &trainer = object(t, "trainer");
    Gate::Alone alone(trainer.gate, "trainer");
    trainer.core.gradients.zero();
  });
}

dl4_error *dl4_trainer_fit(dl4_trainer *t, dl4_dataset *train, dl4_dataset *valid, const char *options,
                           dl4_progress_fn fn, void *user, dl4_cancel *cancel, dl4_blob **history) {
  clear(history);
  return guard(__func__, [&](Entry &entry) {
    dl4_trainer &trainer = object(t, "trainer");
    dl4_dataset &data = object(train, "train");
    dl4_dataset *validation = object_or_null(valid, "valid");
    Ref<dl4_cancel> keep(object_or_null(cancel, "cancel"));
    Working working(entry, trainer);
    train::Progress progress;
    const Log &log = trainer.model->context->log;
    EpochLines lines(log, trainer.core.results().names());
    if (fn || log.takes(Log::info)) {
      progress = [&](train::Event event, int64_t step, int64_t total, const std::vector<double> &metrics) {
        lines.hear(event, step, total, metrics);
        if (!fn) return 0;
        log.deliver();
        Gate::Lent lent(trainer.gate, "trainer"), weights(*trainer.model->weights, "model");
        return call_host("progress function", [&] {
          return fn(user, static_cast<int32_t>(event), step, total, metrics.data(),
                    static_cast<int64_t>(metrics.size()));
        });
      };
    }
    Files files(*trainer.model->context, trainer.core.workers().rank() == 0);
    const Json told = trainer.core.workers().jointly([&] {
      const auto o = train::FitOptions::parse(json_options(options));
      const Batches batches = ask_for(data, trainer);
      std::optional<Batches> more;
      if (validation && validation != &data)
        more.emplace(*validation, trainer.core.model().inputs().size(), trainer.core.targets(), true);
      return train::fit(trainer.core, *data.core, validation ? validation->core.get() : nullptr, o, progress,
                        flag(keep), &files);
    });
    if (history) *history = make_blob(dump(told));
  });
}

dl4_error *dl4_trainer_evaluate(dl4_trainer *t, dl4_dataset *d, dl4_cancel *cancel, double *metrics, int64_t cap,
                                int64_t *n) {
  clear(n);
  return guard(__func__, [&](Entry &entry) {
    dl4_trainer &trainer = object(t, "trainer");
    dl4_dataset &data = object(d, "dataset");
    Ref<dl4_cancel> keep(object_or_null(cancel, "cancel"));
    Working working(entry, trainer);
    trainer.core.workers().jointly([&] {
      need_metrics(metrics, cap);
      const Batches batches = ask_for(data, trainer);
      give(trainer.core.results().of(train::evaluate(trainer.core, *data.core, flag(keep))), metrics, cap, n);
    });
  });
}

dl4_error *dl4_trainer_get_number(const dl4_trainer *t, const char *key, double *out) {
  return produce(__func__, out, [&] {
    const dl4_trainer &trainer = object(t, "trainer");
    std::string name = string(key, "key");
    Gate::Reading reading(trainer.gate, "trainer");
    return trainer.core.get(name);
  });
}

dl4_error *dl4_trainer_set_number(dl4_trainer *t, const char *key, double v) {
  return guard(__func__, [&] {
    dl4_trainer &trainer = object(t, "trainer");
    std::string name = string(key, "key");
    Gate::Recursive recursive(trainer.gate, "trainer");
    trainer.core.set(name, v);
  });
}

dl4_error *dl4_trainer_set_workers(dl4_trainer *t, int64_t rank, int64_t size, dl4_reduce_fn fn, void *user,
                                   dl4_release_fn release) {
  return guard(__func__, [&](Entry &entry) {
    dl4_trainer &trainer = object(t, "trainer");
    if (!fn && size != 1) refuse_argument("fn", "expected a function, got NULL");
    Working working(entry, trainer);
    auto workers = std::make_unique<Release>(user);
    train::Workers::Reduce reduce;
    if (fn)
      reduce = [fn, user](void *values, int64_t n, DType dtype) {
        return call_host("reduce function", [&] {
          return fn(user, values, n, static_cast<int32_t>(dtype == DType::f32 ? DL4_FLOAT32 : DL4_INT32));
        });
      };
    trainer.core.set_workers(rank, size, std::move(reduce), [&](train::Workers &workers) { start(trainer, workers); });
    workers->f = release;
    trainer.workers = std::move(workers);
  });
}

dl4_error *dl4_trainer_save(const dl4_trainer *t, const char *path) {
  return guard(__func__, [&](Entry &entry) {
    const dl4_trainer &trainer = object(t, "trainer");
    const Log &log = trainer.model->context->log;
    entry.log_to(log);
    const Stopwatch watch;
    std::string to = string(path, "path");
    Gate::Reading reading(trainer.gate, "trainer"), weights(*trainer.model->weights, "model");
    io::save_checkpoint(trainer.core, to);
    log.write(Log::info, "saved the checkpoint \"", to, "\": ", watch.told());
  });
}

dl4_error *dl4_trainer_save_bytes(const dl4_trainer *t, dl4_blob **out) {
  return produce(__func__, out, [&] {
    const dl4_trainer &trainer = object(t, "trainer");
    Gate::Reading reading(trainer.gate, "trainer"), weights(*trainer.model->weights, "model");
    return make_blob(io::save_checkpoint(trainer.core));
  });
}

dl4_error *dl4_trainer_load(dl4_trainer *t, const char *path) {
  return guard(__func__, [&](Entry &entry) {
    dl4_trainer &trainer = object(t, "trainer");
    std::string from = string(path, "path");
    Working working(entry, trainer);
    const Stopwatch watch;
    const int64_t bytes = with_path(from, [&] {
      const io::File file(from, trainer.model->context->settings().memory_limit);
      io::load_checkpoint(trainer.core, file);
      return file.size();
    });
    trainer.model->context->log.write(Log::info, "loaded the checkpoint \"", from, "\": ", bytes, " bytes, ",
                                      watch.told());
  });
}

dl4_error *dl4_trainer_load_bytes(dl4_trainer *t, const void *data, int64_t bytes) {
  return guard(__func__, [&](Entry &entry) {
    dl4_trainer &trainer = object(t, "trainer");
    const io::Memory source(bytes_of(data, bytes));
    Working working(entry, trainer);
    io::load_checkpoint(trainer.core, source);
  });
}
