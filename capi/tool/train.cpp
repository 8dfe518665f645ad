// dl4 train, eval.
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "data.hpp"
#include "system.hpp"

namespace dl4::tool {
namespace {

struct TrainOptions : Objective {
  std::string file, data, validation, save;
  int64_t epochs = 1;
  std::optional<double> split, learning_rate;
};

// What Ctrl-C triggers; a second one ends the process.
dl4_cancel *on_signal = nullptr;

class Signals {
 public:
  Signals() {
    dl4::check(dl4_cancel_create(&on_signal));
    os::on_interrupt([] { dl4_cancel_trigger(on_signal); });
  }
  Signals(const Signals &) = delete;
  Signals &operator=(const Signals &) = delete;
};

std::string values(const std::vector<std::string> &names, const double *metrics, int64_t n) {
  std::string text;
  for (size_t i = 0; i < static_cast<size_t>(n) && i < 2 * names.size(); ++i)
    text += "  " + (i < names.size() ? names[i] : "val_" + names[i - names.size()]) + ' ' + number(metrics[i]);
  return text;
}

using Clock = std::chrono::steady_clock;

// A line that is written over on a terminal, and a line for each epoch; once a minute a checkpoint.
struct Progress {
  const Common &common;
  const Trainer &trainer;
  const std::string checkpoint;
  const std::vector<std::string> names = metrics_of(trainer);
  const bool terminal = os::terminal();
  int64_t epoch = 0, epochs = 0;
  size_t width = 0;  // of the line on the terminal
  Clock::time_point next_line{}, saved = Clock::now();
  std::exception_ptr raised{};

  void show(const std::string &line) {
    std::string safe = printable(line);
    const size_t now = safe.size();
    if (now < width) safe.append(width - now, ' ');
    std::fprintf(stderr, "\r%s", safe.c_str());
    width = now;
  }
  void clear() {
    if (!width) return;
    show("");
    std::fputc('\r', stderr);
  }
  std::string heading(int64_t of) const { return "epoch " + std::to_string(of) + '/' + std::to_string(epochs); }

  void batch(int64_t step, int64_t total, const double *metrics, int64_t n) {
    const auto now = Clock::now();
    if (!terminal || now < next_line) return;
    next_line = now + std::chrono::milliseconds(100);
    constexpr int64_t cells = 24;
    std::string line = heading(epoch + 1) + "  ";
    if (total > 0) {
      const auto full = static_cast<size_t>(cells * step / total);
      line += '[' + std::string(full, '=') + std::string(cells - full, ' ') + "] ";
    }
    show(line + std::to_string(step) + (total > 0 ? '/' + std::to_string(total) : "") + values(names, metrics, n));
  }
  void epoch_end(int64_t step, const double *metrics, int64_t n) {
    clear();
    if (!common.json) print(heading(step) + values(names, metrics, n) + '\n');
    if (Clock::now() < saved + std::chrono::minutes(1)) return;
    trainer.save(checkpoint);
    saved = Clock::now();
  }
  // A dl4_progress_fn; user is the Progress.
  static int32_t tell(void *user, int32_t event, int64_t step, int64_t total, const double *metrics, int64_t n) {
    auto &p = *static_cast<Progress *>(user);
    try {
      if (event == DL4_TRAIN_BEGIN) p.epochs = total;
      if (event == DL4_EPOCH_BEGIN) p.epoch = step;
      if (event == DL4_BATCH_END) p.batch(step, total, metrics, n);
      if (event == DL4_EPOCH_END) p.epoch_end(step, metrics, n);
      return DL4_CONTINUE;
    } catch (...) {
      p.raised = std::current_exception();
      return -1;
    }
  }
};

Dataset dataset(const Arrays &a, const TrainOptions &o, int64_t seed, bool shuffle) {
  return {a.x, a.y, a.w, Attrs{{"batch_size", o.batch}, {"shuffle", shuffle}, {"seed", seed}}};
}

// The optimizer of a model that was compiled in Keras goes on where it stopped there.
void load_optimizer(Trainer &t, const TrainOptions &o) {
  dl4_error *e = dl4_trainer_load(t, o.file.c_str());
  if (dl4_error_code(e) == DL4_NOT_FOUND)
    dl4_release(e);
  else
    dl4::check(e);
}

// Goes on from the checkpoint that an interrupted run left, if there is one.
bool resumed(Trainer &t, const std::string &checkpoint) {
  if (!exists(checkpoint)) return false;
  try {
    t.load(checkpoint);
    return true;
  } catch (const Error &error) {
    throw Refusal(refused, std::string(error.what()) + "; remove \"" + checkpoint + "\" to begin anew");
  }
}

struct Fitted {
  std::string history;
  bool stopped = false;
};

Fitted fit(Trainer &t, const Model &m, const TrainOptions &o, const Common &common, const std::string &checkpoint) {
  const Dataset data = dataset(read_data(o.data, m, o), o, common.seed, true);
  std::optional<Dataset> validation;
  if (!o.validation.empty()) validation = dataset(read_data(o.validation, m, o), o, common.seed, false);
  Attrs options{{"epochs", o.epochs}};
  if (o.split && !std::isfinite(*o.split))
    throw Refusal(refused, "--validation-split: expected a finite number, got " + std::to_string(*o.split));
  if (o.split) options.set({"validation_split", *o.split});
  Progress progress{common, t, checkpoint};
  dl4_blob *history = nullptr;
  dl4_error *e = dl4_trainer_fit(t, data, validation ? validation->get() : nullptr, options.c_str(), Progress::tell,
                                 &progress, on_signal, &history);
  progress.clear();
  if (progress.raised) {
    dl4_release(e);
    std::rethrow_exception(progress.raised);
  }
  if (dl4_error_code(e) == DL4_CANCELLED) {
    dl4_release(e);
    t.save(checkpoint);
    return {"", true};
  }
  dl4::check(e);
  const Object<dl4_blob> owned(history);
  return {dl4_blob_data(history)};
}

void save(const Trainer &t, const Model &m, const std::string &path) {
  if (ends_with(path, ".keras"))
    t.save(path);
  else
    m.save(path);
}

// Saves in a folder of its own beside `path`: what can't be written there, or not in that format, is refused before the
// training.
void try_to_save(const Trainer &t, const Model &m, const std::string &path) {
  need_writable(path);
  const std::string apart = os::make_folder(folder_of(path));
  if (apart.empty()) throw Refusal(files, "cannot write \"" + path + "\": " + std::strerror(errno));
  const struct Removed {
    const std::filesystem::path path;
    ~Removed() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  } removed{native(apart)};
  save(t, m, apart + '/' + name_of(path));
}

Exit train(const Common &common, const TrainOptions &o) {
  const Signals signals;
  const Model m = open_model(common, o.file);
  Trainer t = o.trainer(m, "Adam");
  if (o.losses.empty()) load_optimizer(t, o);
  if (o.learning_rate) t.set_number("learning_rate", *o.learning_rate);
  const std::string checkpoint = o.save + ".checkpoint";
  const bool goes_on = resumed(t, checkpoint);
  if (goes_on) std::fprintf(stderr, "dl4: goes on from \"%s\"\n", printable(checkpoint).c_str());
  try_to_save(t, m, o.save);
  const Fitted fitted = fit(t, m, o, common, checkpoint);
  if (fitted.stopped) throw Refusal(interrupted, "interrupted; the same command goes on from \"" + checkpoint + '"');
  save(t, m, o.save);
  std::error_code error;
  std::filesystem::remove(native(checkpoint), error);
  if (error) throw Refusal(files, "cannot remove \"" + checkpoint + "\": " + error.message());
  if (common.json)
    print(Json{{"file", o.file}, {"written", o.save}, {"resumed", goes_on}, {"history", Json::parse(fitted.history)}});
  return done;
}

Exit eval(const Common &common, const TrainOptions &o) {
  const Model m = open_model(common, o.file);
  Trainer t = o.trainer(m, "SGD");
  const std::vector<double> metrics = t.evaluate(dataset(read_data(o.data, m, o), o, common.seed, false));
  const std::vector<std::string> names = metrics_of(t);
  Json all = Json::object();
  std::vector<std::vector<std::string>> rows{{"metric", "value"}};
  for (size_t i = 0; i < metrics.size() && i < names.size(); ++i) {
    all[names[i]] = metrics[i];
    rows.push_back({names[i], number(metrics[i])});
  }
  if (common.json)
    print(Json{{"file", o.file}, {"metrics", std::move(all)}});
  else
    print(table(rows));
  return done;
}

void add(std::vector<Option> &to, std::vector<Option> more) { to.insert(to.end(), more.begin(), more.end()); }

}  // namespace

Command train_command(const Common &common) {
  auto o = std::make_shared<TrainOptions>();
  std::vector<Option> options{
      {"FILE", "FILE", "a model, or an architecture in JSON", &o->file, true},
      {"--data", "FILE", "what to train on: .npz or .csv", &o->data, true},
      {"--save", "FILE", "where the trained model goes; FILE.checkpoint is kept while it is not whole", &o->save, true},
      {"--epochs", "N", "how often to go through the data; default 1", &o->epochs},
      {"--optimizer", "KIND", "default Adam, or what a model was compiled with in Keras", &o->optimizer},
      {"--learning-rate", "R", "of the optimizer; default its own", &o->learning_rate},
      {"--validation", "FILE", "what to validate on after each epoch: .npz or .csv", &o->validation},
      {"--validation-split", "S", "or the last part of the data, as 0.1", &o->split}};
  add(options, o->options());
  return {"train", "trains a model on data; after Ctrl-C the same command goes on, to the same bits", options,
          [=, &common] { return train(common, *o); }};
}

Command eval_command(const Common &common) {
  auto o = std::make_shared<TrainOptions>();
  std::vector<Option> options{{"FILE", "FILE", "a model", &o->file, true},
                              {"--data", "FILE", "what to measure on: .npz or .csv", &o->data, true}};
  add(options, o->options());
  return {"eval", "loss and metrics of a model on data", options, [=, &common] { return eval(common, *o); }};
}

}  // namespace dl4::tool
