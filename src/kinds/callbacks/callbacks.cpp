// Callbacks that write files: ModelCheckpoint, BackupAndRestore, CSVLogger.
// Callbacks that change a fit: that stop it, change its learning rate, or put averages in the place of its weights.
#include <charconv>
#include <cmath>

#include "base/float_mode.hpp"
#include "kinds/optimizer.hpp"

namespace dl4::kinds {
namespace {

// A "{name:spec}" in a path, spec as in Python: [0][width][.precision][d, f, e or g].
struct Hole {
  std::string name;
  bool zeros = false;
  int width = 0, precision = -1;
  char type = 0;
};

[[noreturn]] void refuse(const std::string &path, const std::string &why) {
  throw Error(Code::invalid_argument, text("\"filepath\" \"", path, "\": ", why)).with("attribute", "filepath");
}

Hole parse_hole(const std::string &path, const std::string &inner) {
  Hole h{inner.substr(0, inner.find(':'))};
  if (h.name.size() == inner.size()) return h;
  std::string spec = inner.substr(h.name.size() + 1);
  if (!spec.empty() && std::string_view("dfeg").find(spec.back()) != std::string_view::npos) {
    h.type = spec.back();
    spec.pop_back();
  }
  h.zeros = !spec.empty() && spec[0] == '0';
  const char *at = spec.data(), *end = at + spec.size();
  at = std::from_chars(at, end, h.width).ptr;
  if (at != end && *at == '.') at = std::from_chars(at + 1, end, h.precision).ptr;
  if (at != end || h.width > 64 || h.precision > 32)
    refuse(path, text("expected a width, a precision and one of d, f, e, g after \"", h.name, ":\""));
  return h;
}

std::string written(const Hole &h, double v) {
  char s[512];
  char *end = s + sizeof s;
  const bool whole = h.type == 'd' || (h.type == 0 && h.precision < 0 && v == std::floor(v) && std::fabs(v) < 1e15);
  const auto how = h.type == 'e'   ? std::chars_format::scientific
                   : h.type == 'f' ? std::chars_format::fixed
                                   : std::chars_format::general;
  if (whole)
    end = std::to_chars(s, end, static_cast<int64_t>(v)).ptr;
  else if (h.type == 0 && h.precision < 0)
    end = std::to_chars(s, end, v).ptr;
  else
    end = std::to_chars(s, end, std::clamp(v, -1e300, 1e300), how, h.precision < 0 ? 6 : h.precision).ptr;
  std::string text(s, end);
  const auto width = static_cast<size_t>(h.width);
  if (text.size() < width) text.insert(0, width - text.size(), h.zeros ? '0' : ' ');
  return text;
}

// The path with its placeholders replaced; value(name) returns nullptr for unknown names.
template <class F>
std::string filled(const std::string &path, F value) {
  std::string to;
  for (size_t i = 0; i < path.size(); ++i) {
    const bool twice = i + 1 < path.size() && path[i + 1] == path[i];
    if ((path[i] != '{' && path[i] != '}') || twice) {
      to += path[i];
      i += (path[i] == '{' || path[i] == '}') ? 1 : 0;
      continue;
    }
    const size_t end = path.find('}', i);
    if (path[i] == '}' || end == std::string::npos) refuse(path, "a brace has no other");
    const Hole h = parse_hole(path, path.substr(i + 1, end - i - 1));
    to += written(h, value(h.name));
    i = end;
  }
  return to;
}

struct ModelCheckpoint : Monitor {
  static constexpr const char *doc =
      "saves the model after epochs or batches, as dl4_model_save() does; a fit whose model can't be saved can be "
      "resumed";
  std::string path;
  bool best_only = false, weights_only = false;
  SaveEvery every;
  std::optional<double> threshold;

  void fields(Fields &f) override {
    f("filepath", path, "may hold {epoch:02d}, {batch} and names of the history such as {val_loss:.2f}")
        .required(R"("best.safetensors")");
    monitor_fields(f);
    f("save_best_only", best_only, "only where the monitor has improved");
    f("save_weights_only", weights_only, "true of .weights.h5 and .npz; other files hold the architecture too");
    f("save_freq", every, "batches from one file to the next, or \"epoch\" or null: every epoch");
    f("initial_value_threshold", threshold, "what the first one must be better than; null: nothing");
  }
  void check() override {
    if (weights_only && !path.ends_with(".weights.h5") && !path.ends_with(".npz"))
      unsupported_attribute("save_weights_only", "files of weights alone end in .weights.h5 or .npz");
    if (path.empty()) refuse(path, "expected a path");
    filled(path, [](const std::string &) { return 0.0; });
  }
  void train_begin(Fit &f, const Moment &at, Json &state) const override {
    if (best_only) Monitor::train_begin(f, at, state);
    f.expect_model(filled(path, [&](const std::string &key) {
      const bool known = key == "epoch" || (key == "batch" && every.batches > 0) || key == "learning_rate" ||
                         std::ranges::find(f.names(), key) != f.names().end();
      if (!known) refuse(path, text("nothing is known of \"", key, '"'));
      return 0.0;
    }));
    if (!at.resumed) state = {{"batches", 0}, {"best", threshold ? Json(*threshold) : Json()}};
  }
  void batch_end(Fit &f, const Moment &at, Json &state, Logs &logs) const override {
    if (every.batches == 0) return;
    const int64_t seen = state["batches"].get<int64_t>() + 1;
    state["batches"] = seen < every.batches ? seen : 0;
    if (seen >= every.batches) save(f, at, state, logs);
  }
  void epoch_end(Fit &f, const Moment &at, Json &state, Logs &logs) const override {
    if (every.batches == 0) save(f, at, state, logs);
  }

 private:
  void save(Fit &f, const Moment &at, Json &state, const Logs &logs) const {
    const std::string to = filled(path, [&](const std::string &key) {
      if (key == "epoch") return static_cast<double>(at.epoch + 1);
      if (key == "batch") return static_cast<double>(at.batch);
      const double *v = find(logs, key);
      if (!v) refuse(path, text("\"", key, "\" was not measured"));
      return *v;
    });
    if (const double *now = best_only ? find(logs, monitor_) : nullptr) {
      if (!improves(f, *now, state["best"])) return;
      state["best"] = *now;
    }
    f.save_model(to);
    if (verbose_ > 0) f.say(text("epoch ", at.epoch + 1, ": the model is saved to ", to));
  }
};

struct BackupAndRestore : Callback {
  static constexpr const char *doc =
      "keeps a checkpoint of the fit, \"latest.dl4\" in a folder, and goes on from one that is there: bit for bit as "
      "if nothing had happened, what other callbacks remember included";
  std::string folder;
  SaveEvery every;
  bool twice = false, deletes = true;

  void fields(Fields &f) override {
    f("backup_dir", folder, "folder, made if it is not there").required(R"("backup")");
    f("save_freq", every, "batches from one checkpoint to the next, or \"epoch\" or null: every epoch");
    f("double_checkpoint", twice, "nothing: files are written whole or not at all");
    f("delete_checkpoint", deletes, "remove the checkpoint when the fit has come to its end");
  }
  void check() override {
    if (folder.empty()) fail(Code::invalid_argument, "\"backup_dir\": expected a folder, got \"\"");
  }
  void prepare(Fit &f) const override { f.restore_place(file()); }
  void train_begin(Fit &, const Moment &at, Json &state) const override {
    if (!at.resumed) state = {{"batches", 0}};
  }
  void batch_end(Fit &, const Moment &, Json &state, Logs &) const override {
    state["batches"] = state["batches"].get<int64_t>() + 1;
  }
  void settled(Fit &f, const Moment &, Json &state, bool epoch) const override {
    if (every.batches == 0 ? !epoch : epoch || state["batches"].get<int64_t>() < every.batches) return;
    state["batches"] = 0;
    f.save_place(file());
  }
  void train_end(Fit &f, const Moment &, Json &) const override {
    if (deletes) f.remove(file());
  }

 private:
  std::string file() const { return folder + "/latest.dl4"; }
};

// Formats as Python does.
std::string number(double v) {
  if (!std::isfinite(v)) return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
  char s[64];
  std::string text(s, std::to_chars(s, s + sizeof s, v).ptr);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

struct CSVLogger : Callback {
  static constexpr const char *doc = "a line for each epoch: its number from 0, then what the history has, by name";
  std::string path, separator = ",";
  bool append = false;

  void fields(Fields &f) override {
    f("filename", path, "the file").required(R"("log.csv")");
    f("separator", separator, "one character between the columns");
    f("append", append, "go on in a file that is there; a resumed fit does so too");
  }
  void check() override {
    if (separator.size() != 1) refuse_attribute("separator", "expected one character, got \"", separator, '"');
  }
  void train_begin(Fit &f, const Moment &at, Json &state) const override {
    if (at.resumed) return;
    state = {{"names", nullptr}};
    f.write(path, "", append);
  }
  void epoch_end(Fit &f, const Moment &at, Json &state, Logs &logs) const override {
    std::string text;
    if (state["names"].is_null()) {
      state["names"] = columns(logs);
      text = line("epoch", state["names"], [](const std::string &s) { return s; });
      if (append) text = f.has_text(path) ? std::string() : text;
    }
    text += line(std::to_string(at.epoch), state["names"], [&](const std::string &s) {
      const double *v = find(logs, s);
      return v ? number(*v) : "NA";
    });
    f.write(path, text, true);
  }

 private:
  static Json columns(const Logs &logs) {
    std::vector<std::string> names;
    for (const Logged &l : logs) names.push_back(l.name);
    std::ranges::sort(names);
    if (std::ranges::none_of(names, [](const std::string &s) { return s.starts_with("val_"); }))
      for (size_t i = 0, n = names.size(); i < n; ++i) names.push_back("val_" + names[i]);
    return names;
  }
  template <class F>
  std::string line(const std::string &first, const Json &names, F cell) const {
    std::string s = first;
    for (const Json &n : names) s += separator + quoted(cell(n.get<std::string>()));
    return s + "\r\n";
  }
  std::string quoted(const std::string &s) const {
    if (s.find_first_of("\"\r\n" + separator) == std::string::npos) return s;
    std::string q = "\"";
    for (char c : s) q += c == '"' ? "\"\"" : std::string(1, c);
    return q + '"';
  }
};

struct EarlyStopping : Monitor {
  static constexpr const char *doc =
      "ends a fit whose monitor has not improved for some epochs; the epoch numbered 0 never ends it";
  int64_t patience = 0, start_from_epoch = 0;
  std::optional<double> baseline;
  bool restores = false;

  void fields(Fields &f) override {
    monitor_fields(f);
    f("min_delta", min_delta_, "least change that is an improvement; its sign does not matter");
    f("patience", patience, "epochs without improvement after which the fit ends").at_least(0);
    f("baseline", baseline, "the patience starts anew only where the monitor is better than this; null: always");
    f("restore_best_weights", restores, "end with the weights of the best epoch, also if all epochs were run");
    f("start_from_epoch", start_from_epoch, "epochs before this are not looked at").at_least(0);
  }
  void train_begin(Fit &f, const Moment &at, Json &state) const override {
    Monitor::train_begin(f, at, state);
    if (!at.resumed) state = {{"wait", 0}, {"best", nullptr}, {"best_epoch", -1}, {"stopped_epoch", 0}};
  }
  void epoch_end(Fit &f, const Moment &at, Json &state, Logs &logs) const override {
    const double *now = find(logs, monitor_);
    if (!now || at.epoch < start_from_epoch) return;
    const bool better = improves(f, *now, state["best"]);
    if (better || state["best_epoch"].get<int64_t>() < 0) {
      if (restores) f.keep_weights();
      state["best_epoch"] = at.epoch;
    }
    const int64_t wait = state["wait"].get<int64_t>() + 1;
    state["wait"] = wait;
    if (better) {
      state["best"] = *now;
      if (!baseline || improves(f, *now, *baseline)) state["wait"] = 0;
    } else if (wait >= patience && at.epoch > 0) {
      state["stopped_epoch"] = at.epoch;
      f.stop();
    }
  }
  void train_end(Fit &f, const Moment &, Json &state) const override {
    const auto stopped = state["stopped_epoch"].get<int64_t>(), best = state["best_epoch"].get<int64_t>();
    if (stopped > 0 && verbose_ > 0) f.say(text("epoch ", stopped + 1, ": early stopping"));
    if (!restores || best < 0) return;
    if (verbose_ > 0) f.say(text("the weights of the best epoch, ", best + 1, ", are restored"));
    f.restore_weights();
  }
};

struct TerminateOnNaN : Callback {
  static constexpr const char *doc =
      "ends a fit whose loss, the mean over the epoch so far, is NaN or infinite; a trainer with a nan_guard fails "
      "before it comes to that";
  bool raises = false;

  void fields(Fields &f) override { f("raise_error", raises, "fail with NUMERIC instead"); }
  void batch_end(Fit &f, const Moment &at, Json &, Logs &logs) const override {
    const double *loss = find(logs, "loss");
    if (!loss || std::isfinite(*loss)) return;
    const std::string what = text("the loss is not finite at batch ", at.batch - 1);
    if (raises) fail(Code::numeric, what);
    f.say(what + ": the fit ends");
    f.stop();
  }
};

struct LearningRateScheduler : Callback {
  static constexpr const char *doc =
      "sets the learning rate as an epoch begins, to what a schedule gives for its number";
  Of<Schedule> schedule;
  int64_t verbose = 0;

  void fields(Fields &f) override {
    f("schedule", schedule, "of the number of the epoch, from 0")
        .required(R"({"class_name": "CosineDecay", "config": {"initial_learning_rate": 0.1, "decay_steps": 10}})");
    f("verbose", verbose, "1: the rate is said to the log").at_least(0);
  }
  void check() override {
    if (!schedule) fail(Code::invalid_argument, "\"schedule\": expected a schedule, got null");
  }
  void train_begin(Fit &f, const Moment &, Json &) const override {
    if (f.has_schedule())
      fail(Code::invalid_argument, entry().name, " can't set the learning rate: the optimizer has a schedule for it");
  }
  void epoch_begin(Fit &f, const Moment &at, Json &) const override {
    if (at.batch > 0) return;  // resumed within an epoch
    const auto rate = static_cast<double>(schedule->at(at.epoch));
    f.set_learning_rate(rate);
    if (verbose > 0) f.say(text("epoch ", at.epoch + 1, ": the learning rate is ", rate));
  }
  void epoch_end(Fit &f, const Moment &, Json &, Logs &logs) const override {
    if (!find(logs, "learning_rate")) logs.push_back({"learning_rate", f.learning_rate()});
  }
};

struct ReduceLROnPlateau : Monitor {
  static constexpr const char *doc = "lowers the learning rate while the monitor does not improve";
  double factor = 0.1, min_lr = 0;
  int64_t patience = 10, cooldown = 0;

  ReduceLROnPlateau() { min_delta_ = 1e-4; }
  void fields(Fields &f) override {
    monitor_fields(f);
    f("factor", factor, "what the rate is multiplied by, below 1").at_least(0);
    f("patience", patience, "epochs without improvement after which it is").at_least(0);
    f("min_delta", min_delta_, "least change that is an improvement; its sign does not matter");
    f("cooldown", cooldown, "epochs after that in which none are counted").at_least(0);
    f("min_lr", min_lr, "least learning rate").at_least(0);
  }
  void check() override {
    if (!(factor < 1)) refuse_attribute("factor", "expected below 1, got ", Json(factor).dump());
  }
  void train_begin(Fit &f, const Moment &at, Json &state) const override {
    Monitor::train_begin(f, at, state);
    if (f.has_schedule())
      fail(Code::invalid_argument, entry().name, " can't lower the learning rate: the optimizer has a schedule for it");
    if (!at.resumed) state = {{"wait", 0}, {"cooldown", 0}, {"best", nullptr}};
  }
  void epoch_end(Fit &f, const Moment &at, Json &state, Logs &logs) const override {
    FlushToZero flush;
    const double rate = f.learning_rate();
    if (!find(logs, "learning_rate")) logs.push_back({"learning_rate", rate});
    const double *now = find(logs, monitor_);
    if (!now) return;
    auto cooling = state["cooldown"].get<int64_t>(), wait = state["wait"].get<int64_t>();
    if (cooling > 0) {
      --cooling;
      wait = 0;
    }
    if (improves(f, *now, state["best"])) {
      state["best"] = *now;
      wait = 0;
    } else if (cooling == 0 && ++wait >= patience && rate > static_cast<double>(static_cast<float>(min_lr))) {
      const double lower = std::max(rate * factor, min_lr);
      f.set_learning_rate(lower);
      if (verbose_ > 0) f.say(text("epoch ", at.epoch + 1, ": the learning rate is lowered to ", lower));
      cooling = cooldown;
      wait = 0;
    }
    state["cooldown"] = cooling;
    state["wait"] = wait;
  }
};

struct SwapEMAWeights : Callback {
  static constexpr const char *doc =
      "validates with the averages of the weights, which an optimizer with use_ema keeps, in the weights' place";
  bool by_epoch = false;

  void fields(Fields &f) override {
    f("swap_on_epoch", by_epoch, "they stay there from the end of an epoch to the beginning of the next");
  }
  void train_begin(Fit &f, const Moment &at, Json &state) const override {
    if (!f.has_averages())
      fail(Code::invalid_argument, entry().name, " needs an optimizer with \"use_ema\": expected true, got false");
    if (!at.resumed) state = {{"swapped", false}};
  }
  void epoch_begin(Fit &f, const Moment &, Json &state) const override {
    if (by_epoch) make(f, state, false);
  }
  void test_begin(Fit &f, Json &state) const override { make(f, state, true); }
  void test_end(Fit &f, Json &state) const override { make(f, state, false); }
  void epoch_end(Fit &f, const Moment &at, Json &state, Logs &) const override {
    if (!by_epoch || state["swapped"].get<bool>()) return;
    make(f, state, true);
    if (at.epoch == at.epochs - 1) f.settle_averages();
  }

 private:
  static void make(Fit &f, Json &state, bool swapped) {
    if (state["swapped"].get<bool>() == swapped) return;
    f.swap_averages();
    state["swapped"] = swapped;
  }
};

}  // namespace

DL4_KINDS(checkpoints, ModelCheckpoint, BackupAndRestore, CSVLogger)
DL4_KINDS(stopping, EarlyStopping, TerminateOnNaN, ReduceLROnPlateau, LearningRateScheduler, SwapEMAWeights)

}  // namespace dl4::kinds
