// Callbacks of fits: what is refused, what goes on after a fit was broken off, and the files that are left.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "capi/net.hpp"
#include "harness/folder.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using json = nlohmann::json;

json kind(const std::string &name, const json &config = json::object()) {
  return {{"class_name", name}, {"config", config}};
}
const json plateau =
    kind("ReduceLROnPlateau", {{"monitor", "loss"}, {"patience", 1}, {"factor", 0.5}, {"mode", "max"}});
const json falling =
    kind("ExponentialDecay", {{"initial_learning_rate", 0.1}, {"decay_steps", 3}, {"decay_rate", 0.5}});

struct Fit {
  Own<dl4_context> c;
  Own<dl4_model> model;
  Own<dl4_trainer> t;
  std::vector<float> x = numbers(24 * 4), y = numbers(24 * 3);
  Own<dl4_dataset> data;
  json history;
  int64_t batches = 0, fail_at = -1;  // in which the progress callback fails
  Own<dl4_cancel> cancel;
  int64_t cancel_at = -1;

  explicit Fit(const json &optimizer = kind("Adam", {{"learning_rate", 0.05}}), const json &more = json::object()) {
    ok(dl4_context_create(R"({"threads": 1, "seed": 7})", c.out()));
    model = small_net(c, "linear");
    json options{{"optimizer", optimizer}, {"loss", "mse"}, {"metrics", {"mae"}}};
    options.update(more);
    t = trainer(model, options.dump());
    fill();
  }
  void fill() { data = dataset(tensor({24, 4}, x), tensor({24, 3}, y), R"({"batch_size": 4, "seed": 3})"); }

  static int32_t progress(void *user, int32_t event, int64_t, int64_t, const double *, int64_t) {
    auto &f = *static_cast<Fit *>(user);
    if (event != DL4_BATCH_END) return DL4_CONTINUE;
    if (++f.batches == f.cancel_at) dl4_cancel_trigger(f.cancel);
    return f.batches == f.fail_at ? 9 : DL4_CONTINUE;
  }
  Refusal run(const std::vector<json> &callbacks, int64_t epochs = 4, json options = json::object()) {
    Own<dl4_blob> told;
    ok(dl4_cancel_create(cancel.out()));
    options.update({{"callbacks", callbacks}, {"epochs", epochs}, {"validation_split", 0.25}});
    Refusal r = refusal(dl4_trainer_fit(t, data, nullptr, options.dump().c_str(), progress, this, cancel, told.out()));
    if (told) history = json::parse(dl4_blob_data(told));
    return r;
  }
  double get(const char *key) const {
    double v = 0;
    ok(dl4_trainer_get_number(t, key, &v));
    return v;
  }
  std::string saved() const {
    Own<dl4_blob> b;
    ok(dl4_trainer_save_bytes(t, b.out()));
    return {dl4_blob_data(b), static_cast<size_t>(dl4_blob_size(b))};
  }
  void load(const std::string &bytes) {
    ok(dl4_trainer_load_bytes(t, bytes.data(), static_cast<int64_t>(bytes.size())));
  }
};

void refused(const Refusal &r, int32_t code, const std::string &words) {
  EXPECT_EQ(r.code, code) << r.message;
  EXPECT_NE(r.message.find(words), std::string::npos) << r.message;
}

TEST(Callbacks, AreRefusedAsTheFitBegins) {
  const json scheduled = kind("SGD", {{"learning_rate", falling}});
  Fit f, under(scheduled);
  for (const auto &[callback, code, words] : std::initializer_list<std::tuple<json, int32_t, const char *>>{
           {kind("EarlyStopping", {{"monitor", "val_los"}}), DL4_INVALID_ARGUMENT,
            "expected one of \"loss\", \"mae\", \"val_loss\", \"val_mae\", got \"val_los\"; did you mean \"val_loss\""},
           {kind("SwapEMAWeights"), DL4_INVALID_ARGUMENT, "needs an optimizer with \"use_ema\""},
           {kind("ModelCheckpoint", {{"filepath", "a.h5"}}), DL4_UNSUPPORTED, ".weights.h5, .npz, .onnx, or"},
           {kind("ModelCheckpoint", {{"filepath", "{epoch}.kreas"}}), DL4_UNSUPPORTED, "did you mean \".keras\"?"},
           {kind("ModelCheckpoint", {{"filepath", "{lost}"}}), DL4_INVALID_ARGUMENT, "nothing is known of \"lost\""},
           {kind("ModelCheckpoint", {{"filepath", "{epoch"}}), DL4_INVALID_ARGUMENT, "a brace has no other"},
           {kind("ModelCheckpoint", {{"filepath", "{epoch:x}"}}), DL4_INVALID_ARGUMENT, "expected a width"},
           {kind("ModelCheckpoint", {{"filepath", "a"}, {"save_weights_only", true}}), DL4_UNSUPPORTED,
            "files of weights alone end in"},
           {kind("ModelCheckpoint", {{"filepath", "a"}, {"save_freq", 0}}), DL4_INVALID_ARGUMENT,
            "\"epoch\" or a number"},
           {kind("ReduceLROnPlateau", {{"factor", 1.0}}), DL4_INVALID_ARGUMENT, "expected below 1"},
           {kind("BackupAndRestore", {{"backup_dir", ""}}), DL4_INVALID_ARGUMENT, "expected a folder"},
           {kind("CSVLogger", {{"filename", "a"}, {"separator", ""}}), DL4_INVALID_ARGUMENT, "one character"},
           {kind("LearningRateScheduler", {{"schedule", nullptr}}), DL4_INVALID_ARGUMENT, "got null"},
           {kind("RemoteMonitor"), DL4_UNSUPPORTED, "callback RemoteMonitor is not in this version"},
           {kind("EarlyStoping"), DL4_UNKNOWN_KIND, "did you mean \"EarlyStopping\""},
           {json(nullptr), DL4_INVALID_ARGUMENT, "expected a callback, got null"}})
    refused(f.run({callback}), code, words);
  EXPECT_EQ(f.get("iterations"), 0);
  refused(under.run({plateau}), DL4_INVALID_ARGUMENT, "can't lower the learning rate");
  refused(under.run({kind("LearningRateScheduler", {{"schedule", falling}})}), DL4_INVALID_ARGUMENT,
          "can't set the learning rate");
  refused(refusal(dl4_trainer_set_number(under.t, "learning_rate", 0.5)), DL4_INVALID_ARGUMENT,
          "ExponentialDecay determines it");
  EXPECT_EQ(under.get("iterations"), 0);
}

TEST(Callbacks, AScheduleCountsUpdates) {
  Fit f(kind("SGD", {{"learning_rate", falling}}));
  EXPECT_FLOAT_EQ(static_cast<float>(f.get("learning_rate")), 0.1f);
  EXPECT_EQ(f.run({}, 1).message, "");
  EXPECT_EQ(f.get("iterations"), 5);
  EXPECT_NEAR(f.get("learning_rate"), 0.1 * std::pow(0.5, 5 / 3.0), 1e-7);
}

// What they remember is in the checkpoint, the best weights too.
TEST(Callbacks, AFitBrokenOffGoesOnAsIfNothingHadHappened) {
  const std::vector<json> callbacks{
      kind("EarlyStopping", {{"monitor", "mae"}, {"patience", 2}, {"mode", "max"}, {"restore_best_weights", true}}),
      plateau};
  Fit whole;
  EXPECT_EQ(whole.run(callbacks, 9).message, "");
  EXPECT_LT(whole.history.at("epoch").size(), 9u);
  for (int64_t at : {3, 8, 10, 14}) {
    Fit first, second;
    first.cancel_at = at;
    refused(first.run(callbacks, 9), DL4_CANCELLED, "");
    second.load(first.saved());
    EXPECT_EQ(second.run(callbacks, 9).message, "");
    EXPECT_EQ(second.history, whole.history) << at;
    EXPECT_EQ(second.saved(), whole.saved()) << at;
  }
}

// Every optimizer, in mid-accumulation, with averages: a checkpoint has all of its state.
TEST(Callbacks, EveryOptimizerGoesOnBitForBit) {
  for (const char *name : {"SGD", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Lion", "Ftrl", "Lamb",
                           "Adafactor", "Muon"}) {
    const json how = kind(name, {{"learning_rate", 0.05},
                                 {"use_ema", true},
                                 {"ema_overwrite_frequency", 2},
                                 {"gradient_accumulation_steps", 3},
                                 {"weight_decay", 0.01}});
    Fit whole(how), first(how), second(how);
    EXPECT_EQ(whole.run({}, 3).message, "");
    first.cancel_at = 7;
    refused(first.run({}, 3), DL4_CANCELLED, "");
    second.load(first.saved());
    EXPECT_EQ(second.run({}, 3).message, "");
    EXPECT_EQ(second.saved(), whole.saved()) << name;
    EXPECT_EQ(whole.get("iterations"), 5) << "15 batches";
  }
}

// A frozen weight loses what an optimizer keeps of it alone, and starts anew.
TEST(Callbacks, WeightsAreFrozenAndThawed) {
  for (const char *name : {"Adafactor", "Lamb", "Nadam"}) {
    Fit f(kind(name, {{"learning_rate", 0.05}, {"use_ema", true}}));
    EXPECT_EQ(f.run({}, 1).message, "");
    ok(dl4_model_set_trainable(f.model, "hidden", 0));
    EXPECT_EQ(f.run({}, 1).message, "");
    ok(dl4_model_set_trainable(f.model, "hidden", 1));
    EXPECT_EQ(f.run({}, 1).message, "");
    for (float v : f.history.at("loss")) EXPECT_LT(v, 2);
  }
}

class CallbackFiles : public Folder {};

TEST_F(CallbackFiles, ABackupIsGoneOnWith) {
  for (const json &every : {json("epoch"), json(2)}) {
    const std::vector<json> callbacks{kind("BackupAndRestore", {{"backup_dir", path("backup")}, {"save_freq", every}}),
                                      kind("EarlyStopping", {{"monitor", "mae"}, {"patience", 3}, {"mode", "max"}}),
                                      plateau};
    Fit whole, first, second;
    EXPECT_EQ(whole.run(callbacks, 6).message, "");
    EXPECT_FALSE(std::filesystem::exists(path("backup/latest.dl4"))) << "the fit came to its end";
    first.fail_at = 8;
    refused(first.run(callbacks, 6), DL4_CALLBACK_FAILED, "gave 9");
    EXPECT_TRUE(std::filesystem::exists(path("backup/latest.dl4")));
    EXPECT_EQ(second.run(callbacks, 6).message, "");
    EXPECT_EQ(second.batches + (every == 2 ? 8 : 5), whole.batches);
    EXPECT_EQ(second.history, whole.history);
    EXPECT_EQ(second.saved(), whole.saved());
  }
  put("latest.dl4", "nonsense");
  Fit f;
  refused(f.run({kind("BackupAndRestore", {{"backup_dir", path("")}})}), DL4_CORRUPT_FILE, "");
  EXPECT_EQ(f.get("iterations"), 0);
}

TEST_F(CallbackFiles, ModelsAreSavedUnderTheirNames) {
  Fit f;
  EXPECT_EQ(f.run({kind("ModelCheckpoint", {{"filepath", path("a/{epoch:03d}_{{x}}_{loss:.1f}.dl4")}}),
                   kind("ModelCheckpoint", {{"filepath", path("b/{epoch}-{batch}")}, {"save_freq", 4}}),
                   kind("ModelCheckpoint", {{"filepath", path("best")},
                                            {"save_best_only", true},
                                            {"monitor", "loss"},
                                            {"initial_value_threshold", 0.0}})},
                  2)
                .message,
            "");
  char name[64];
  std::snprintf(name, sizeof name, "a/002_{x}_%.1f.dl4", f.history.at("loss")[1].get<double>());
  EXPECT_TRUE(std::filesystem::exists(path(name))) << name;
  EXPECT_TRUE(std::filesystem::exists(path("b/1-4")));
  EXPECT_TRUE(std::filesystem::exists(path("b/2-3")));
  EXPECT_FALSE(std::filesystem::exists(path("best"))) << "no loss is below 0";
  Own<dl4_model> loaded;
  ok(dl4_model_load(f.c, path(name).c_str(), nullptr, loaded.out()));
}

TEST_F(CallbackFiles, AFitThatCannotSaveCanBeResumed) {
  put("file", "in the way");
  const std::vector<json> callbacks{kind("ModelCheckpoint", {{"filepath", path("file/{epoch}.dl4")}, {"save_freq", 3}}),
                                    plateau};
  Fit whole, f;
  EXPECT_EQ(whole.run({kind("ModelCheckpoint", {{"filepath", path("x")}, {"save_freq", 100}}), plateau}, 3).message,
            "");
  refused(f.run(callbacks, 3), DL4_IO, "cannot make the folder");
  EXPECT_EQ(f.get("batch"), 3);
  std::filesystem::remove(path("file"));
  EXPECT_EQ(f.run(callbacks, 3, {{"resume", true}}).message, "");
  EXPECT_EQ(f.history, whole.history);
}

TEST_F(CallbackFiles, LinesOfALog) {
  const json log = kind("CSVLogger", {{"filename", path("log.csv")}, {"separator", ";"}});
  const json more = kind("CSVLogger", {{"filename", path("log.csv")}, {"separator", ";"}, {"append", true}});
  Fit f;
  EXPECT_EQ(f.run({log}, 2).message, "");
  std::string text = get("log.csv");
  EXPECT_EQ(text.find("epoch;loss;mae;val_loss;val_mae\r\n0;"), 0u) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_NE(text.find("\r\n1;" + json(f.history.at("loss")[1]).dump() + ";"), std::string::npos) << text;
  EXPECT_EQ(f.run({more}, 1).message, "");
  text = get("log.csv");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << "no header again";
  EXPECT_EQ(f.run({log, plateau}, 2, {{"validation_freq", 2}}).message, "");
  text = get("log.csv");
  EXPECT_EQ(text.find("epoch;loss;mae;val_loss;val_mae\r\n0;"), 0u) << "names of the first epoch, and their twins";
  EXPECT_NE(text.find(";NA;NA\r\n1;"), std::string::npos) << text;
  refused(f.run({kind("CSVLogger", {{"filename", folder_.string()}})}), DL4_IO, "cannot write");
}

TEST(Callbacks, AnInfiniteLossEndsAFit) {
  for (bool raises : {false, true}) {
    Fit f(json("SGD"), {{"nan_guard", "off"}});
    f.y[0] = std::numeric_limits<float>::infinity();
    f.fill();
    const Refusal r = f.run({kind("TerminateOnNaN", {{"raise_error", raises}})});
    if (raises)
      refused(r, DL4_NUMERIC, "the loss is not finite at batch ");
    else
      EXPECT_EQ(f.history.at("epoch").size(), 1u);
    EXPECT_LE(f.batches, 5);
  }
}

TEST(Callbacks, ADecayLeavesSomeAlone) {
  // With a gradient of 0 a weight is multiplied by 1 - 0.1 * 0.5.
  for (const char *word : {"bias", "answer/kernel"}) {
    Fit f(kind("SGD", {{"learning_rate", 0.1}, {"weight_decay", 0.5}}), {{"exclude_from_weight_decay", {word}}});
    std::map<std::string, std::vector<float>> before;
    const std::vector<std::string> names{"hidden/kernel", "hidden/bias", "answer/kernel", "answer/bias"};
    auto weight = [&](const std::string &name) {
      Own<dl4_tensor> w;
      ok(dl4_model_get_weight(f.model, name.c_str(), w.out()));
      return floats(w);
    };
    for (const auto &name : names) before[name] = weight(name);
    Own<dl4_tensor> all = tensor({4 * 8 + 8 + 8 * 3 + 3}, std::vector<float>(67, 0));
    ok(dl4_trainer_set_gradient(f.t, "*", all));
    ok(dl4_trainer_apply(f.t));
    for (const auto &name : names) {
      const bool kept = name == word || (std::string(word) == "bias" && name.ends_with("/bias"));
      const auto now = weight(name);
      for (size_t i = 0; i < now.size(); ++i)
        EXPECT_FLOAT_EQ(now[i], before[name][i] * (kept ? 1.0f : 0.95f)) << name << " without " << word;
    }
  }
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
