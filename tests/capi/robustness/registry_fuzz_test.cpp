// Hostile values for every attribute of every kind and every option of every call: what is refused is refused in words,
// what is taken can be built, run, trained, saved and loaded. Cases run in children, so that one that ends its process
// is told by its number; DL4_FUZZ_CASE=<number> runs that one alone, in this process.
#include <sys/mman.h>
#include <sys/time.h>

#include <cstring>
#include <fstream>

#include "capi/hostile.hpp"
#include "capi/processes.hpp"
#include "capi/texts.hpp"
#include "capi/use.hpp"
#include "harness/folder.hpp"

#if defined(DL4_ADDRESS_SANITIZER)
#include <sanitizer/lsan_interface.h>
#endif

namespace dl4_test::DL4_FILE {
namespace {

// ---- Cases ----------------------------------------------------------------------------------------------------------

struct Case {
  int64_t number = 0;
  const Target *target = nullptr;
  json config = json::object(), arguments = json::object();
  bool strict = false;  // nothing of it may be refused

  std::string words() const {
    return target->category + ' ' + target->name + ' ' +
           config.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 3000) + ' ' +
           arguments.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  // The options of a function, where this case is about it.
  json options(const char *function, json otherwise = json::object()) const {
    if (target->name == function) otherwise.update(config);
    return otherwise;
  }
};

// Case by case all slots of all targets get a value in turn: null first, then every other one and, in every second
// round, one at random; some cases have more than one such value.
Case make_case(int64_t number, const std::vector<Target> &targets) {
  struct Pair {
    const Target *target;
    const Slot *slot;
  };
  std::vector<Pair> pairs;
  for (const Target &t : targets)
    for (const Slot &s : t.slots) pairs.push_back({&t, &s});
  const auto n = static_cast<size_t>(number), which = n % pairs.size(), round = n / pairs.size();
  const auto &values = hostile_values();
  Random random(n + 1);
  Case c;
  c.number = number;
  c.target = pairs[which].target;
  c.config = c.target->base;
  auto put = [&](const Slot &slot, json value) {
    (slot.argument ? c.arguments : c.config)[slot.key] = std::move(value);
  };
  if (round % 2)
    put(*pairs[which].slot, values[1 + (which + round / 2) % (values.size() - 1)]);
  else
    put(*pairs[which].slot, round ? hostile(random, *pairs[which].slot, targets) : json());
  for (size_t more = random.one_in(3) ? 1 + random.below(2) : 0; more; --more) {
    const Slot &slot = random.of(c.target->slots);
    put(slot, hostile(random, slot, targets));
  }
  return c;
}

// ---- What a case goes through ---------------------------------------------------------------------------------------

// Of a shape in the registry's letters: (B, T, F), (B, ...), (...).
std::vector<int64_t> dims_of(const std::string &shape, Random &random, bool odd) {
  std::vector<int64_t> dims;
  const size_t from = shape.find('(') + 1;
  std::string letters = shape.substr(from, shape.find(')') - from) + ',';
  for (size_t at = 0, comma; (comma = letters.find(',', at)) != std::string::npos; at = comma + 1) {
    std::string one = letters.substr(at, comma - at);
    one.erase(0, one.find_first_not_of(' '));
    if (one == "...") {
      if (dims.empty()) dims.push_back(-1);
      const size_t more = odd ? random.below(4) : 2;
      for (size_t i = 0; i < more; ++i) dims.push_back(i % 2 ? 4 : 3);
    } else {
      dims.push_back(one == "B" ? -1 : one[0] == 'T' ? 5 : one[0] == '3' ? 3 : one == "H" || one == "W" ? 6 : 4);
    }
  }
  if (odd && dims.size() > 1) dims[1 + random.below(dims.size() - 1)] = static_cast<int64_t>(random.below(3)) - 1;
  return dims;
}

class Bench {
 public:
  Bench(const Case &c, const std::string &folder)
      : case_(c), folder_(folder), random_(static_cast<uint64_t>(c.number)) {}

  void go() {
    const json limits{{"threads", 1}, {"memory_limit", 64 << 20}};
    if (!create_context(case_.options("dl4_context_create", limits))) return;
    ok(dl4_graph_create(context_, graph_.out()));
    if (!build()) return;
    use();
    train();
  }

 private:
  // True if taken; a strict case is.
  bool may(dl4_error *e) {
    if (case_.strict && e) ADD_FAILURE() << dl4_error_message(e);
    return taken(e);
  }
  // The same of training: a strict case trains, or is of a kind that the registry says is refused, and is, by its name.
  bool trained(dl4_error *e) {
    if (!case_.strict || case_.target->trains) return may(e);
    const Refusal r = refusal(e);
    EXPECT_EQ(r.code, DL4_UNSUPPORTED) << r.message;
    EXPECT_NE(r.message.find('(' + case_.target->name + ')'), std::string::npos) << r.message;
    return r.code == 0;
  }
  // True in one of n cases, and in no strict one.
  bool some(size_t n) { return !case_.strict && random_.one_in(n); }
  bool create_context(json options) {
    options.erase("log_to");  // what is written to a file of any name stays where the tests run
    return may(dl4_context_create(text(options).c_str(), context_.out()));
  }

  // ---- Building
  bool add(const std::string &kind, const json &config, const json &arguments, std::vector<dl4_node> in) {
    const Arguments call(arguments);
    if (!call.refs) return false;
    // A layer in front makes it differentiate by its input.
    for (size_t i = 0; i < in.size(); ++i) {
      int64_t dims[8];
      int32_t rank = 0;
      ok(dl4_node_shape(graph_, in[i], dims, 8, &rank));
      if (rank < 2 || dims[rank - 1] < 1 || integers_ || i >= case_.target->inputs.size() || some(2)) continue;
      in[i] = dl4_test::add(graph_, "Dense", nullptr, json{{"units", dims[rank - 1]}}.dump(), in[i]);
    }
    return may(dl4_graph_add(graph_, kind.c_str(), nullptr, text(config).c_str(), call.plain.c_str(), call.refs,
                             in.data(), static_cast<int64_t>(in.size()), &out_, 1));
  }
  dl4_node input(const std::vector<int64_t> &dims, int32_t dtype = DL4_FLOAT32) {
    inputs_.push_back(dl4_test::input(graph_, nullptr, dims, dtype));
    return inputs_.back();
  }
  bool build() {
    const std::string &category = case_.target->category;
    if (!(category == "layer" ? build_layer() : build_part())) return false;
    return may(dl4_graph_build(graph_, inputs_.data(), static_cast<int64_t>(inputs_.size()), &out_, 1, model_.out()));
  }
  bool build_layer() {
    const bool odd = some(6);
    bool strings = false;
    for (const std::string &shape : case_.target->inputs) {
      strings = shape.find("strings") != std::string::npos;
      integers_ = strings || shape.find("integers") != std::string::npos;
      input(dims_of(shape, random_, odd), strings ? DL4_STRING : integers_ ? DL4_INT32 : DL4_FLOAT32);
    }
    std::vector<dl4_node> in = inputs_;
    if (case_.target->name == "GetMask" &&
        !may(dl4_graph_add(graph_, "Masking", nullptr, nullptr, nullptr, nullptr, in.data(), 1, in.data(), 1)))
      return false;
    if (case_.arguments.contains("mask")) input({-1, 5}, DL4_BOOL);
    if (!add(case_.target->name, case_.config, case_.arguments, in)) return false;
    // No layer in front of integers is trained; one behind is, of numbers.
    int32_t dtype = DL4_FLOAT32;
    ok(dl4_node_dtype(graph_, out_, &dtype));
    if (dl4_node y = -1;
        dtype != DL4_STRING && integers_ && (strings || in.size() == 1) &&
        may(dl4_graph_add(graph_, "Dense", nullptr, R"({"units": 4})", nullptr, nullptr, &out_, 1, &y, 1)))
      out_ = y;
    return true;
  }
  // A small net with the kind in it, if it is one of the parts of a layer.
  bool build_part() {
    const std::string &category = case_.target->category, &name = case_.target->name;
    const json kind{{"class_name", name}, {"config", case_.config}};
    json config{{"units", 4}, {"activation", "softmax"}};
    if (name == "STFT")
      return add("Conv1D", {{"filters", 4}, {"kernel_size", 3}, {"kernel_initializer", kind}}, {}, {input({-1, 5, 1})});
    if (category == "initializer" && some(3))
      return add("Conv2D", {{"filters", 4}, {"kernel_size", 2}, {"bias_initializer", kind}}, {},
                 {input({-1, 5, 5, 2})});
    if (category == "initializer" && some(3))
      return add("LSTM", {{"units", 4}, {"recurrent_initializer", kind}}, {}, {input({-1, 5, 4})});
    if (category == "initializer") config["kernel_initializer"] = kind;
    if (category == "regularizer" || category == "constraint")
      config[(some(3) ? "bias_" : "kernel_") + category] = kind;
    if (category == "regularizer" && some(2)) config["activity_regularizer"] = kind;
    if (category == "activation") config["activation"] = kind;
    return add("Dense", config, {}, {input({-1, 4})});
  }

  // ---- Running
  using Bytes = std::vector<std::string>;
  // What a model gives for so many rows; nothing if that is refused.
  std::optional<Bytes> run(const dl4_model *m, int64_t rows) {
    Own<dl4_session> s;
    const std::string options = text(case_.options("dl4_session_create"));
    if (!may(dl4_session_create(m, options.c_str(), s.out()))) return std::nullopt;
    const auto in = inputs_of(s, rows);
    if (!in) return std::nullopt;
    const std::vector<dl4_tensor *> from(in->begin(), in->end());
    Own<dl4_tensor> out;
    if (!may(dl4_session_run(s, from.data(), static_cast<int64_t>(from.size()), out.out(), 1, nullptr)))
      return std::nullopt;
    described(s, DL4_FORMAT_TEXT);
    if (dl4_tensor_dtype(out) == DL4_STRING) return strings_of(out);  // nothing to train
    shape_.assign(dl4_tensor_dims(out), dl4_tensor_dims(out) + dl4_tensor_rank(out));
    const auto size = static_cast<size_t>(dl4_tensor_bytes(out));
    return Bytes{size ? std::string(static_cast<const char *>(dl4_tensor_data(out)), size) : ""};
  }
  void use() {
    for (int32_t format : {DL4_FORMAT_JSON, DL4_FORMAT_TEXT, DL4_FORMAT_DOT}) described(model_, format);
    const std::string saving = text(case_.options("dl4_model_save_bytes")),
                      loading = text(case_.options("dl4_model_load_bytes"));
    Own<dl4_blob> b;
    if (!may(dl4_model_save_bytes(model_, saving.c_str(), b.out()))) return;
    const std::string bytes(dl4_blob_data(b), static_cast<size_t>(dl4_blob_size(b)));
    Own<dl4_model> again, copy;
    // A context's memory_limit may be too small for the file's JSON.
    const std::string &target = case_.target->name;
    const bool about_loading = target == "dl4_model_load_bytes" || target == "dl4_context_create";
    dl4_error *e = load_copy(context_, bytes.data(), dl4_blob_size(b), loading.c_str(), again.out());
    if (about_loading && !may(e)) return;
    if (!about_loading) ok(e);
    ok(dl4_model_clone(model_, copy.out()));
    if (!again || !copy) return;
    const json weights = case_.options("dl4_model_load_bytes").value("weights", json(true));
    const bool whole = weights.is_number() ? weights != 0 : weights.get<bool>();
    EXPECT_EQ(saved(again) == bytes, whole || dl4_port_count(model_, DL4_WEIGHTS) == 0);
    run(model_, 0);
    const auto first = run(model_, 2);
    const auto loaded = run(again, 2);
    if (whole) {
      EXPECT_TRUE(loaded == first) << "loaded";
    }
    EXPECT_TRUE(run(copy, 2) == first) << "cloned";
  }

  // ---- Training
  bool sparse() const {
    const std::string &name = case_.target->name;
    return name.rfind("Sparse", 0) == 0 || name == "CategoricalGeneralizedCrossEntropy" || name == "Circle";
  }
  json trainer_options() const {
    json o{{"optimizer", "SGD"}, {"loss", sparse() ? "SparseCategoricalCrossentropy" : "mse"}};
    const std::string &category = case_.target->category;
    const json kind{{"class_name", case_.target->name}, {"config", case_.config}};
    if (category == "loss" || category == "optimizer") o[category] = kind;
    if (category == "metric") o["metrics"] = {kind};
    if (category == "schedule") o["optimizer"] = {{"class_name", "SGD"}, {"config", {{"learning_rate", kind}}}};
    return case_.options("dl4_trainer_create", o);
  }
  void train() {
    if (shape_.empty()) return;
    std::vector<int64_t> dims = shape_;
    if (sparse()) dims.pop_back();
    int64_t elements = 1;
    for (int64_t d : dims) elements *= d;
    if (elements > 100000) return;
    Own<dl4_session> s;
    ok(dl4_session_create(model_, nullptr, s.out()));
    const auto x = inputs_of(s, 2);
    if (!x) return;
    std::vector<float> values = numbers(sparse() ? 0 : static_cast<size_t>(elements));
    for (float &v : values) v = v * v;
    const auto y = tensor(dims, values, sparse() ? DL4_INT32 : DL4_FLOAT32);
    Own<dl4_trainer> t;
    if (!may(dl4_trainer_create(model_, text(trainer_options()).c_str(), t.out()))) return;
    const std::vector<dl4_tensor *> from(x->begin(), x->end());
    step(t, from, y);
    const bool function = case_.target->category == "function";
    if (function || case_.strict || random_.one_in(8)) fit(t, from, y);
    for (int32_t format : {DL4_FORMAT_JSON, DL4_FORMAT_TEXT}) described(t, format);
    saved(model_);
  }
  void step(dl4_trainer *t, const std::vector<dl4_tensor *> &x, dl4_tensor *y) {
    double metrics[4];
    for (int i = 0; i < 2; ++i)
      if (!trained(
              dl4_trainer_step(t, x.data(), static_cast<int64_t>(x.size()), &y, 1, nullptr, 0, metrics, 4, nullptr)))
        return;
  }
  struct Feed {
    const std::vector<dl4_tensor *> *x;
    dl4_tensor *y;
  };
  static int32_t feed(void *user, int64_t index, dl4_tensor **x, int64_t nx, dl4_tensor **y, int64_t, dl4_tensor **,
                      int64_t) {
    if (index == 3) return 1;
    const Feed &f = *static_cast<Feed *>(user);
    for (int64_t i = 0; i < nx; ++i) dl4_retain(x[i] = (*f.x)[static_cast<size_t>(i)]);
    dl4_retain(*y = f.y);
    return 0;
  }
  static int32_t enough(void *user, int32_t event, int64_t, int64_t, const double *, int64_t) {
    return event == DL4_BATCH_END && ++*static_cast<int *>(user) > 20;
  }
  void fit(dl4_trainer *t, const std::vector<dl4_tensor *> &x, dl4_tensor *y) {
    Own<dl4_dataset> d;
    Feed f{&x, y};
    const std::string tensors = text(case_.options("dl4_dataset_from_tensors", {{"batch_size", 1}})),
                      callback = text(case_.options("dl4_dataset_from_callback")),
                      options = text(case_.options("dl4_trainer_fit", {{"epochs", 2}}));
    const bool fed = case_.target->name == "dl4_dataset_from_callback";
    if (!may(fed ? dl4_dataset_from_callback(context_, feed, &f, nullptr, callback.c_str(), d.out())
                 : dl4_dataset_from_tensors(context_, x.data(), static_cast<int64_t>(x.size()), &y, 1, nullptr, 0,
                                            tensors.c_str(), d.out())))
      return;
    int batches = 0;
    Own<dl4_blob> history;
    trained(dl4_trainer_fit(t, d, nullptr, options.c_str(), enough, &batches, nullptr, history.out()));
    may(dl4_trainer_evaluate(t, d, nullptr, nullptr, 0, nullptr));
    const std::string path = folder_ + "/checkpoint";
    ok(dl4_trainer_save(t, path.c_str()));
    ok(dl4_trainer_load(t, path.c_str()));
  }

  const Case &case_;
  const std::string folder_;
  Random random_;
  Own<dl4_context> context_;
  Own<dl4_graph> graph_;
  Own<dl4_model> model_;
  std::vector<dl4_node> inputs_;
  std::vector<int64_t> shape_;  // of the last run's output
  dl4_node out_ = -1;
  bool integers_ = false;
};

// ---- Children -------------------------------------------------------------------------------------------------------

// What a child leaves behind: the case that it is at.
struct Note {
  int64_t number;
  char words[4096];
};

void limit_time(int seconds) {
  const itimerval cpu{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &cpu, nullptr);  // SIGPROF ends the process
  alarm(static_cast<unsigned>(seconds * 150));
}

// Kilobytes of address space at the most so far.
int64_t peak() {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;)
    if (word == "VmPeak:" && in >> word) return std::stoll(word);
  return 0;
}

class RegistryFuzz : public Folder {
 protected:
  void one(const Case &c) {
    SCOPED_TRACE("case " + std::to_string(c.number) + ": " + c.words());
    const int64_t before = sanitized ? 0 : peak();
    Bench(c, folder_.string()).go();
    if (!sanitized && c.target->name != "dl4_context_create") {  // the stacks of many threads count
      // Weights within the limit of 64 MiB are in the model, its plans, a trainer's gradients and moments, and files.
      EXPECT_LT(peak() - before, 640 << 10) << "KiB";
    }
  }
  // In a child: cases from `first` on, up to one that fails. Its exit status is that of no process that was killed.
  [[noreturn]] void work(int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const Case c = make_case(i, targets_);
      note_->number = i;
      std::snprintf(note_->words, sizeof note_->words, "%s", c.words().c_str());
      limit_time(sanitized ? 150 : 12);  // the orthogonal weights of a ConvLSTM2D with 1000 filters take some 5 s
      try {
        one(c);
      } catch (const std::exception &e) {
        ADD_FAILURE() << e.what();
      }
      limit_time(0);
      std::fflush(nullptr);
      if (HasFailure()) _exit(1);
    }
#if defined(DL4_ADDRESS_SANITIZER)
    std::snprintf(note_->words, sizeof note_->words, "a leak in one of the cases from %lld on",
                  static_cast<long long>(first));
    if (__lsan_do_recoverable_leak_check()) _exit(1);
#endif
    _exit(0);
  }
  // The number of the first case that fails among these, or `last`; a failure here would be one of the next child, too.
  int64_t run(int64_t first, int64_t last, std::string &failures) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) work(first, last);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return last;
    std::string how = WIFEXITED(status) ? "status " + std::to_string(WEXITSTATUS(status)) : strsignal(WTERMSIG(status));
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) how = "it took too long";
    failures += "\nDL4_FUZZ_CASE=" + std::to_string(note_->number) + ": " + how + ": " + note_->words;
    return note_->number;
  }

  const std::vector<Target> targets_ = all_targets();
  Note *const note_ =
      static_cast<Note *>(mmap(nullptr, sizeof(Note), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
};

// Without a hostile value nothing is refused: the cases below do reach what they are for.
// Kinds for which any numbers of the registry's shapes won't do; the goldens and tests of their own train them.
const std::map<std::string, const char *> particular = {
    {"Arccos", "of numbers from -1 to 1"},
    {"Arccosh", "of numbers from 1 up"},
    {"Arcsin", "of numbers from -1 to 1"},
    {"Arctanh", "of numbers from -1 to 1"},
    {"Erfinv", "of numbers from -1 to 1"},
    {"LeftShift", "of integers"},
    {"RightShift", "of integers"},
    {"BitwiseAnd", "of integers"},
    {"BitwiseNot", "of integers"},
    {"BitwiseOr", "of integers"},
    {"BitwiseXor", "of integers"},
    {"Log", "of positive numbers"},
    {"Log10", "of positive numbers"},
    {"Log1p", "of numbers above -1"},
    {"Log2", "of positive numbers"},
    {"Rsqrt", "of positive numbers"},
    {"Sqrt", "of positive numbers"},
    {"Power", "of positive numbers"},
    {"GraphAttention", "edges are pairs"},
    {"GraphNetwork", "edges are pairs"},
    {"SegmentSum", "its rows are no batch"},
    {"SegmentMax", "its rows are no batch"},
    {"SegmentGather", "takes its rows by integers"},
    {"GridSample", "a place has a number for each axis of the image"},
    {"RoiAlign", "its boxes are no batch"},
    {"LinearAttention", "queries have more heads than keys"},
    {"STFTSpectrogram", "of sequences longer than a window"},
    {"Take", "of floats by integers"},
    {"SetLengths", "lengths are integers"},
    {"Arange", "its places are no batch"},
    {"Range", "its size is computed"},
    {"NonMaxSuppression", "its size is computed"},
    {"RandomCrop", "gives smaller images in training"},
    {"RandAugment", "has no gradient"},
    {"AugMix", "has no gradient"},
    {"Cond", "its first input is a flag"},
    {"WhileLoop", "its layer takes the number of a step"},
    {"Scan", "its inputs are states and sequences"},
    {"StatelessCall", "its weights are no batch"},
    {"EnsureSize", "an axis is of that size"},
    {"Sizes", "its sizes are no batch"},
    {"Zeros", "its flags are no batch"},
    {"ReshapeLike", "of as many elements"},
    {"Weight", "has no input"},
    {"Draws", "has no input"},
    {"GetWeight", "of a graph that has the weight"},
    {"Assign", "of a graph that has the weight"},
    {"ApplyGradients", "of a graph that has the weights"},
    {"UpdateStep", "its weight is no batch"},
    {"Gradients", "of targets and what they depend on"},
    {"loss Functional", "a model of two inputs"},
    {"metric Functional", "the same"},
    {"CTC", "of labels for steps"},
};

bool is_particular(const Target &t) { return particular.count(t.name) || particular.count(t.category + ' ' + t.name); }

TEST_F(RegistryFuzz, EveryKindIsBuiltRunTrainedAndSaved) {
  for (size_t i = 0; i < targets_.size(); ++i)
    if (!is_particular(targets_[i])) one({static_cast<int64_t>(i), &targets_[i], targets_[i].base, {}, true});
}

TEST_F(RegistryFuzz, HostileValuesAreRefusedOrWork) {
  if (const char *alone = std::getenv("DL4_FUZZ_CASE")) return one(make_case(std::stoll(alone), targets_));
  const int64_t most = times(5000, 100000), chunk = 250;
  std::string failures;
  for (int64_t i = 0, many = 50; i < most && many;) {
    const int64_t last = std::min(most, i - i % chunk + chunk), end = run(i, last, failures);
    many -= end < last;
    i = end < last ? end + 1 : last;
  }
  EXPECT_EQ(failures, "");
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
