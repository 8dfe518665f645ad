// Hazard 10: the host's state is the same after every entry point, and nothing is printed.
#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "capi/float_control.hpp"
#include "capi/processes.hpp"
#include "harness/folder.hpp"

namespace dl4_test::DL4_FILE {
namespace {

namespace fs = std::filesystem;

std::string host_state() {
  std::string s = "rounding " + std::to_string(fegetround());
  s += ", floats " + std::to_string(float_control()) + ", locale " + setlocale(LC_ALL, nullptr) +
       (uselocale(nullptr) == LC_GLOBAL_LOCALE ? "" : " of the thread");
  mode_t mask = umask(0);
  umask(mask);
  s += ", umask " + std::to_string(mask) + ", in " + fs::current_path().string() + ", signals ";
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  for (int i = 1; i < 65; ++i) {
    struct sigaction now {};
    if (sigaction(i, nullptr, &now) == 0) s += now.sa_handler == SIG_DFL ? 'd' : now.sa_handler == SIG_IGN ? 'i' : 'h';
    s += sigismember(&blocked, i) ? '-' : '+';
  }
  for (const char *name :
       {"omp_get_max_threads", "omp_get_dynamic", "omp_get_max_active_levels", "openblas_get_num_threads"})
    if (auto *get = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, name)))
      s += std::string(", ") + name + ' ' + std::to_string(get());
  s += ", files " + std::to_string(std::distance(fs::directory_iterator("/proc/self/fd"), {}));
  for (char **e = environ; *e; ++e) s += std::string("\n") + *e;
  return s;
}

// What stdout and stderr got while it lived.
class Silence {
 public:
  Silence() : path_(fs::temp_directory_path() / ("dl4-host-test-" + std::to_string(getpid()))) {
    fflush(nullptr);
    int fd = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int i : {0, 1}) {
      kept_[i] = dup(i + 1);
      dup2(fd, i + 1);
    }
    close(fd);
  }
  std::string end() {
    fflush(nullptr);
    for (int i : {0, 1}) {
      dup2(kept_[i], i + 1);
      close(kept_[i]);
    }
    std::string s = bytes_of(path_);
    fs::remove(path_);
    return s;
  }

 private:
  fs::path path_;
  int kept_[2];
};

int32_t batches(void *user, int64_t index, dl4_tensor **x, int64_t, dl4_tensor **y, int64_t, dl4_tensor **, int64_t) {
  if (index) return 1;
  auto *both = static_cast<dl4_tensor **>(user);
  for (int i : {0, 1}) dl4_retain(both[i]);
  x[0] = both[0];
  y[0] = both[1];
  return 0;
}
int32_t sums(void *, void *, int64_t, int32_t) { return 0; }
int32_t computes(void *, const char *, dl4_tensor *const *, int64_t, dl4_tensor *const *, int64_t) { return 0; }

int32_t go_on(void *, int32_t, int64_t, int64_t, const double *, int64_t) { return 0; }
void *take(void *, int64_t bytes, int64_t align) {
  return std::aligned_alloc(static_cast<size_t>(align), static_cast<size_t>(bytes));
}
void give(void *, void *p, int64_t) { std::free(p); }

// Every function of the header, once well and, where it can fail, once badly; `after` is called behind each.
void call_everything(const std::function<void(const char *)> &after) {
  const std::string path = (fs::temp_directory_path() / ("dl4-host-test-file-" + std::to_string(getpid()))).string();
  const int64_t dims[2] = {4, 4};
  Own<dl4_error> failed;
  Own<dl4_blob> blob;
  Own<dl4_context> context;
  Own<dl4_refs> refs_;
  Own<dl4_graph> graph, second;
  Own<dl4_model> model, other;
  Own<dl4_session> session;
  Own<dl4_tensor> tensor_, x = tensor({4, 4}, numbers(16)), y = tensor({4, 3}, numbers(12)), out;
  Own<dl4_dataset> data, called;
  Own<dl4_trainer> trainer_;
  Own<dl4_cancel> cancel;
  dl4_tensor *in = x, *target = y, *both[2] = {x, y};
  dl4_node node = -1, answer = -1;
  dl4_layer layer = -1;
  int64_t shape[2], n = 0;
  int32_t rank = 0;
  double value = 0;
  void *managed = nullptr;
  // What is called from a macro has the name of its function for a label.
#define WELL(name, ...) ok(name(__VA_ARGS__)), after(#name)
#define BADLY(name, ...) ASSERT_NE(*failed.out() = name(__VA_ARGS__), nullptr), after(#name)
#define READ(name, ...) (void)name(__VA_ARGS__), after(#name)
  READ(dl4_version);
  WELL(dl4_build_info, blob.out());
  WELL(dl4_api_description, blob.out());
  WELL(dl4_registry_json, nullptr, nullptr, blob.out());
  BADLY(dl4_registry_json, "layer", "Dens", blob.out());
  WELL(dl4_registry_check, "optimizer", "Adam", R"({"beta_1": 0.5})");
  BADLY(dl4_registry_check, "optimizer", "Adam", R"({"beta_1": 1.5})");
  READ(dl4_error_code, failed);
  READ(dl4_error_message, failed);
  READ(dl4_error_detail, failed);
  WELL(dl4_context_create, R"({"threads": 2})", context.out());
  BADLY(dl4_context_create, R"({"threads": 0})", context.out());
  WELL(dl4_context_create, R"({"threads": 2})", context.out());
  WELL(
      dl4_context_set_logger, context, DL4_LOG_TRACE, [](void *, int32_t, const char *) {}, nullptr);
  WELL(dl4_context_set_seed, context, 3);
  WELL(dl4_context_set_allocator, context, take, give, nullptr);
  WELL(dl4_refs_create, refs_.out());
  WELL(dl4_refs_set_nodes, refs_, "j", &node, 1);
  BADLY(dl4_refs_set_nodes, refs_, "", &node, 1);
  WELL(dl4_tensor_create, context, DL4_FLOAT32, 2, dims, tensor_.out());
  READ(dl4_blob_data, blob);
  READ(dl4_blob_size, blob);
  float memory[16] = {};
  WELL(dl4_tensor_wrap, nullptr, DL4_FLOAT32, 2, dims, nullptr, memory, sizeof memory, nullptr, nullptr, tensor_.out());
  WELL(dl4_tensor_clone, x, tensor_.out());
  WELL(dl4_tensor_to_dlpack, x, 1, &managed);
  WELL(dl4_tensor_from_dlpack, nullptr, 1, managed, tensor_.out());
  WELL(dl4_tensor_copy_in, tensor_, memory, sizeof memory);
  WELL(dl4_tensor_copy_in, x, numbers(16).data(), sizeof memory);
  WELL(dl4_tensor_copy_out, x, memory, sizeof memory);
  BADLY(dl4_tensor_copy_out, x, memory, 3);
  WELL(dl4_tensor_save, x, path.c_str());
  BADLY(dl4_tensor_save, x, "/no/such/folder/x.npy");
  WELL(dl4_tensor_load, context, path.c_str(), nullptr, tensor_.out());
  BADLY(dl4_tensor_load, context, "/no/such/file", nullptr, tensor_.out());
  READ(dl4_tensor_dtype, x);
  READ(dl4_tensor_rank, x);
  READ(dl4_tensor_dims, x);
  {
    const char *words[2] = {"a", "b"}, *none[2] = {nullptr, nullptr};
    const int64_t two = 2, ends[3] = {0, 1, 2}, wrong[3] = {0, 2, 1};
    Own<dl4_tensor> strings;
    WELL(dl4_tensor_from_strings, nullptr, 1, &two, words, nullptr, strings.out());
    BADLY(dl4_tensor_from_strings, nullptr, 1, &two, none, nullptr, strings.out());
    WELL(dl4_tensor_wrap_strings, nullptr, 1, &two, DL4_INT64, ends, "ab", 2, nullptr, nullptr, strings.out());
    BADLY(dl4_tensor_wrap_strings, nullptr, 1, &two, DL4_INT64, wrong, "ab", 2, nullptr, nullptr, strings.out());
    READ(dl4_tensor_string, x, 0, &n);
  }
  READ(dl4_tensor_strides, x);
  READ(dl4_tensor_data, x);
  READ(dl4_tensor_bytes, x);
  WELL(dl4_graph_create, context, graph.out());
  const int64_t symbolic[2] = {-1, 4};
  WELL(dl4_graph_add_input, graph, "x", DL4_FLOAT32, 2, symbolic, &node);
  WELL(dl4_graph_add_constant, graph, "k", y, &answer);
  WELL(dl4_graph_add_layer, graph, "Dense", "hidden", R"({"units": 5, "activation": "gelu"})", nullptr, &layer);
  WELL(dl4_graph_call, graph, layer, nullptr, nullptr, &node, 1, &answer, 1);
  WELL(dl4_graph_add, graph, "Dense", "answer", R"({"units": 3})", nullptr, nullptr, &answer, 1, &answer, 1);
  BADLY(dl4_graph_add, graph, "Dense", nullptr, R"({"unit": 3e})", nullptr, nullptr, &node, 1, &rank, 1);
  WELL(dl4_node_shape, graph, answer, shape, 2, &rank);
  WELL(dl4_node_dtype, graph, answer, &rank);
  WELL(dl4_graph_add_mask, graph, answer, &layer);
  int64_t of_call = 0;
  dl4_node first = -1;
  WELL(dl4_node_outputs, graph, answer, &first, 1, &of_call);
  BADLY(dl4_node_outputs, graph, 99, &first, 1, &of_call);
  dl4_node weight = -1, gradient = -1, done = -1;
  WELL(dl4_graph_add_weight, graph, "hidden/kernel", &weight);
  BADLY(dl4_graph_add_weight, graph, "hidden/kernels", &done);
  WELL(dl4_graph_add_gradients, graph, R"({"sum": true})", &answer, 1, nullptr, &weight, 1, &gradient, 1);
  BADLY(dl4_graph_add_gradients, graph, nullptr, &answer, 1, nullptr, &weight, 1, &done, 1);
  WELL(dl4_graph_add_assign, graph, nullptr, weight, gradient, &done);
  BADLY(dl4_graph_add_assign, graph, nullptr, answer, gradient, &done);
  WELL(dl4_graph_add_update, graph, "step", R"({"optimizer": "SGD"})", -1, &weight, 1, &gradient, 1, &done);
  WELL(dl4_graph_add_after, graph, answer, &done, 1, &done);
  WELL(dl4_graph_build, graph, &node, 1, &answer, 1, model.out());
  WELL(dl4_refs_set_model, refs_, "k", model);
  WELL(dl4_describe, model, DL4_FORMAT_JSON, blob.out());
  WELL(dl4_graph_create, nullptr, second.out());
  WELL(dl4_graph_add_json, second, dl4_blob_data(blob));
  WELL(dl4_model_save, model, path.c_str(), nullptr);
  WELL(dl4_model_load, context, path.c_str(), nullptr, other.out());
  BADLY(dl4_model_load, context, "/no/such/file", nullptr, other.out());
  WELL(dl4_model_load_weights, model, path.c_str(), nullptr);
  BADLY(dl4_model_load_weights, model, "/no/such/file", nullptr);
  WELL(dl4_model_save_bytes, model, nullptr, blob.out());
  const int64_t size = dl4_blob_size(blob);
  Own<dl4_tensor> file;
  WELL(dl4_tensor_create, context, DL4_UINT8, 1, &size, file.out());
  BADLY(dl4_model_load_bytes, nullptr, file, nullptr, other.out());
  std::memcpy(dl4_tensor_data(file), dl4_blob_data(blob), static_cast<size_t>(size));
  WELL(dl4_model_load_bytes, nullptr, file, nullptr, other.out());
  WELL(dl4_model_clone, model, other.out());
  READ(dl4_port_count, model, DL4_INPUTS);
  READ(dl4_port_name, model, DL4_INPUTS, 0);
  WELL(dl4_port_shape, model, DL4_INPUTS, 0, shape, 2, &rank);
  READ(dl4_port_dtype, model, DL4_INPUTS, 0);
  WELL(dl4_model_get_trainable, model, "answer/bias", &rank);
  BADLY(dl4_model_get_trainable, model, "answer", &rank);
  WELL(dl4_port_shape, model, DL4_WEIGHTS, 0, shape, 2, &rank);
  WELL(dl4_model_get_weight, model, "answer/bias", tensor_.out());
  WELL(dl4_model_set_weight, model, "answer/bias", tensor_);
  WELL(dl4_session_create, model, R"({"training": true, "gradients": ["x", "answer/kernel"]})", session.out());
  dl4_tensor *outputs[3] = {};
  WELL(dl4_session_run, session, &in, 1, outputs, 3, nullptr);
  for (dl4_tensor *o : outputs) dl4_release(o);
  READ(dl4_port_count, session, DL4_OUTPUTS);
  READ(dl4_port_name, session, DL4_OUTPUTS, 1);
  READ(dl4_port_dtype, session, DL4_OUTPUTS, 1);
  WELL(dl4_port_shape, session, DL4_OUTPUTS, 1, shape, 2, &rank);
  const int32_t ranks[1] = {2};
  WELL(dl4_session_output_shape, session, ranks, dims, 1, 0, shape, 2, &rank);
  Own<dl4_graph> sharing;
  Own<dl4_model> gru;
  Own<dl4_session> states;
  Own<dl4_stream> stream;
  const int64_t steps[3] = {-1, -1, 4};
  dl4_node of_steps = -1, last = -1;
  WELL(dl4_graph_create, nullptr, sharing.out());
  layer = 2;  // "hidden"
  WELL(dl4_graph_add_shared, sharing, graph, layer, "shared", &layer);
  BADLY(dl4_graph_add_shared, sharing, graph, 99, nullptr, &layer);
  WELL(dl4_graph_add_input, sharing, "x", DL4_FLOAT32, 3, steps, &of_steps);
  WELL(dl4_graph_add, sharing, "GRU", nullptr, R"({"units": 2})", nullptr, nullptr, &of_steps, 1, &last, 1);
  WELL(dl4_graph_build, sharing, &of_steps, 1, &last, 1, gru.out());
  WELL(dl4_session_create, gru, R"({"states": true})", states.out());
  WELL(dl4_stream_create, states, nullptr, stream.out());
  READ(dl4_port_count, stream, DL4_INPUTS);
  Own<dl4_tensor> sequence = tensor({1, 2, 4}, numbers(8));
  dl4_tensor *part = sequence;
  WELL(dl4_stream_run, stream, &part, 1, out.out(), 1, nullptr);
  BADLY(dl4_stream_run, stream, &in, 1, out.out(), 1, nullptr);
  WELL(dl4_stream_save_bytes, stream, blob.out());
  WELL(dl4_stream_load_bytes, stream, dl4_blob_data(blob), dl4_blob_size(blob));
  WELL(dl4_stream_reset, stream);
  WELL(dl4_stream_reset_row, stream, 0);
  BADLY(dl4_stream_reset_row, stream, 1);
  Own<dl4_stream> fork;
  WELL(dl4_stream_fork, stream, nullptr, fork.out());
  dl4_stream *streams[2] = {stream, fork};
  Own<dl4_tensor> of_both = tensor({2, 2, 4}, numbers(16));
  dl4_tensor *rows = of_both;
  WELL(dl4_stream_run_many, streams, 2, nullptr, &rows, 1, out.out(), 1, nullptr);
  BADLY(dl4_stream_run_many, streams, 2, nullptr, &in, 1, out.out(), 1, nullptr);
  int64_t id = -1;
  WELL(dl4_stream_next, stream, &part, 1, nullptr, nullptr, nullptr, &id, 1, nullptr);
  BADLY(dl4_stream_next, stream, &in, 1, nullptr, nullptr, nullptr, &id, 1, nullptr);
  WELL(dl4_registry_add, "layer", "test>Host", nullptr, nullptr, computes, nullptr, nullptr, nullptr);
  BADLY(dl4_registry_add, "layer", "Dense", nullptr, nullptr, computes, nullptr, nullptr, nullptr);
  WELL(dl4_registry_remove, "layer", "test>Host");
  BADLY(dl4_registry_remove, "layer", "Dense");
  WELL(dl4_model_check_gradients, model, &in, 1, nullptr, blob.out());
  BADLY(dl4_model_check_gradients, model, &in, 0, nullptr, blob.out());
  WELL(dl4_measure, context, "loss", "Huber", nullptr, y, y, nullptr, out.out());
  BADLY(dl4_measure, context, "loss", "Hubert", nullptr, y, y, nullptr, out.out());
  WELL(dl4_model_set_trainable, model, "answer", 1);
  WELL(dl4_session_create, model, nullptr, session.out());
  WELL(dl4_session_run, session, &in, 1, out.out(), 1, nullptr);
  BADLY(dl4_session_run, session, &target, 1, out.out(), 1, nullptr);
  WELL(dl4_dataset_from_tensors, nullptr, &in, 1, &target, 1, nullptr, 0, nullptr, data.out());
  WELL(dl4_adapt, nullptr, "Normalization", nullptr, data, nullptr, blob.out());
  BADLY(dl4_adapt, nullptr, "Dense", nullptr, data, nullptr, blob.out());
  WELL(dl4_dataset_from_callback, nullptr, batches, both, nullptr, nullptr, called.out());
  WELL(dl4_session_predict, session, data, nullptr, out.out(), 1);
  WELL(dl4_trainer_create, model, R"({"optimizer": "Adam", "loss": "Huber", "metrics": ["mae"]})", trainer_.out());
  WELL(dl4_trainer_step, trainer_, &in, 1, &target, 1, nullptr, 0, &value, 1, &n);
  WELL(dl4_trainer_accumulate, trainer_, &in, 1, &target, 1, nullptr, 0, &value, 1, &n);
  WELL(dl4_trainer_get_gradient, trainer_, "*", tensor_.out());
  WELL(dl4_trainer_zero_gradients, trainer_);
  WELL(dl4_trainer_set_gradient, trainer_, "*", tensor_);
  WELL(dl4_trainer_add_gradient, trainer_, "*", tensor_);
  WELL(dl4_trainer_apply, trainer_);
  WELL(dl4_cancel_create, cancel.out());
  WELL(dl4_trainer_fit, trainer_, called, data, nullptr, go_on, nullptr, cancel, blob.out());
  WELL(dl4_trainer_evaluate, trainer_, data, nullptr, &value, 1, &n);
  WELL(dl4_trainer_get_number, trainer_, "learning_rate", &value);
  WELL(dl4_trainer_set_number, trainer_, "learning_rate", 0.25);
  WELL(dl4_trainer_set_workers, trainer_, 0, 1, sums, nullptr, nullptr);
  BADLY(dl4_trainer_set_workers, trainer_, 1, 1, sums, nullptr, nullptr);
  WELL(dl4_trainer_set_workers, trainer_, 0, 1, nullptr, nullptr, nullptr);
  WELL(dl4_trainer_save, trainer_, path.c_str());
  WELL(dl4_trainer_load, trainer_, path.c_str());
  WELL(dl4_trainer_save_bytes, trainer_, blob.out());
  WELL(dl4_trainer_load_bytes, trainer_, dl4_blob_data(blob), dl4_blob_size(blob));
  WELL(dl4_context_trim, context);
  READ(dl4_cancel_trigger, cancel);
  READ(dl4_cancel_triggered, cancel);
  BADLY(dl4_session_run, session, &in, 1, out.out(), 1, cancel);
  READ(dl4_retain, static_cast<dl4_tensor *>(x));
  READ(dl4_release, static_cast<dl4_tensor *>(x));
#undef WELL
#undef BADLY
#undef READ
  fs::remove(path);
}

TEST(Hazard10, TheHostIsAsBeforeAfterEveryEntryAndNothingIsPrinted) {
  call_everything([](const char *) {});  // what is made once, such as the crew of the default context
  // A host that is as unlike the default as it may be.
  setenv("OMP_NUM_THREADS", "3", 1);
  sigset_t some, before_mask;
  sigemptyset(&some);
  sigaddset(&some, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &some, &before_mask);
  mode_t before_umask = umask(027);
  fesetround(FE_UPWARD);
  const uint32_t before_floats = float_control();
  set_float_control(before_floats | flush_to_zero);
  std::set<std::string> seen;
  std::vector<std::string> changed;
  Silence silence;
  std::string expected = host_state();
  auto first_line = [](const std::string &s) { return s.substr(0, s.find('\n')); };  // all but the environment
  call_everything([&](const char *name) {
    seen.insert(name);
    if (std::string now = host_state(); now != expected)
      changed.push_back(std::string(name) + "\nbefore: " + first_line(expected) + "\nafter: " + first_line(now));
  });
  std::string printed = silence.end();
  set_float_control(before_floats);
  fesetround(FE_TONEAREST);
  umask(before_umask);
  pthread_sigmask(SIG_SETMASK, &before_mask, nullptr);
  EXPECT_EQ(printed, "");
  EXPECT_TRUE(changed.empty()) << changed.size() << " calls, the first: " << changed[0];
  Own<dl4_blob> api;
  ok(dl4_api_description(api.out()));
  const auto described = nlohmann::json::parse(dl4_blob_data(api));
  for (const auto &f : described.at("functions"))
    EXPECT_TRUE(seen.count(f.at("name").get<std::string>())) << f.at("name") << " was not called";
}

#if defined(__GLIBC__) && defined(__x86_64__)
// With every trap on: what the library computes is no signal, and raises none of the caller's flags.
TEST(Hazard10, TheCallersTrapsAndFlagsStay) {
  int status = in_child([] {
    int bad = 0;
    auto arm = [] {
      feclearexcept(FE_ALL_EXCEPT);
      feenableexcept(FE_ALL_EXCEPT);
    };
    arm();
    call_everything([&](const char *name) {
      const int traps = fedisableexcept(FE_ALL_EXCEPT), flags = fetestexcept(FE_ALL_EXCEPT);
      if (traps != FE_ALL_EXCEPT || flags) {
        std::fprintf(stderr, "%s: traps %#x, flags %#x\n", name, static_cast<unsigned>(traps),
                     static_cast<unsigned>(flags));
        bad = 1;
      }
      arm();
    });
    // Numbers that are not exact, in every text there is.
    auto model = small_net();
    auto t =
        trainer(model, R"({"optimizer": {"class_name": "Adam", "config": {"learning_rate": 0.1}}, "loss": "Huber"})");
    Own<dl4_graph> g;
    Own<dl4_blob> text;
    ok(dl4_graph_create(nullptr, g.out()));
    dl4_node x = input(g, "x", {-1, 333});
    add(g, "Dense", nullptr, R"({"units": 777777, "kernel_regularizer": {"class_name": "L2", "config": {"l2": 0.07}}})",
        x);
    for (const void *object : {static_cast<const void *>(model.get()), static_cast<const void *>(t.get()),
                               static_cast<const void *>(g.get())})
      for (int32_t format : {DL4_FORMAT_JSON, DL4_FORMAT_TEXT, DL4_FORMAT_DOT})
        if (dl4_error *e = dl4_describe(object, format, text.out())) dl4_release(e);
    const int flags = fetestexcept(FE_ALL_EXCEPT);
    fedisableexcept(FE_ALL_EXCEPT);
    return bad || flags;
  });
  EXPECT_EQ(status, 0);
}
#endif

// The bits of weights, of a run and of training must not hang on how the caller's processor is set.
TEST(Hazard10, NumbersDoNotDependOnTheCallersFloatMode) {
  auto results = [] {
    Own<dl4_graph> g;
    Own<dl4_model> model;
    ok(dl4_graph_create(nullptr, g.out()));
    dl4_node x = input(g, "x", {-1, 4}), y = add(g, "Dense", "hidden", R"({"units": 8, "activation": "gelu"})", x);
    y = add(g, "Dropout", nullptr, R"({"rate": 0.3, "seed": 7})", y);
    y = add(g, "Dense", "answer", R"({"units": 3, "kernel_initializer": "Orthogonal", "kernel_regularizer":
                                      {"class_name": "L2", "config": {"l2": 0.07}}})",
            y);
    ok(dl4_graph_build(g, &x, 1, &y, 1, model.out()));
    Own<dl4_session> s;
    Own<dl4_tensor> out, gradient;
    Own<dl4_blob> file, history;
    auto in = tensor({20, 4}, numbers(80)), target = tensor({20, 3}, numbers(60));
    dl4_tensor *first = in, *wanted = target;
    ok(dl4_session_create(model, nullptr, s.out()));
    ok(dl4_session_run(s, &first, 1, out.out(), 1, nullptr));
    auto t = trainer(model, R"({"optimizer": {"class_name": "Adam", "config": {"learning_rate": 0.037}},
                               "loss": "Huber", "metrics": ["mae"]})");
    auto data = dataset(in, target, R"({"batch_size": 3})");
    ok(dl4_trainer_fit(t, data, nullptr, R"({"epochs": 2, "validation_split": 0.2})", nullptr, nullptr, nullptr,
                       history.out()));
    ok(dl4_trainer_set_number(t, "learning_rate", 0.1));
    for (int i = 0; i < 3; ++i) ok(dl4_trainer_accumulate(t, &first, 1, &wanted, 1, nullptr, 0, nullptr, 0, nullptr));
    ok(dl4_trainer_get_gradient(t, "*", gradient.out()));
    ok(dl4_trainer_apply(t));
    ok(dl4_model_save_bytes(model, nullptr, file.out()));
    return std::tuple(floats(out), floats(gradient), std::string(dl4_blob_data(history)),
                      std::string(dl4_blob_data(file), static_cast<size_t>(dl4_blob_size(file))));
  };
  const auto expected = results();
  for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    fesetround(mode);
    auto got = results();
    fesetround(FE_TONEAREST);
    EXPECT_EQ(std::get<0>(got), std::get<0>(expected)) << "outputs, " << mode;
    EXPECT_EQ(std::get<1>(got), std::get<1>(expected)) << "gradients, " << mode;
    EXPECT_EQ(std::get<2>(got), std::get<2>(expected)) << "history, " << mode;
    EXPECT_TRUE(std::get<3>(got) == std::get<3>(expected)) << "weights, " << mode;
  }
#if defined(__GLIBC__) && defined(__x86_64__)
  auto model = small_net();
  Own<dl4_session> s;
  ok(dl4_session_create(model, nullptr, s.out()));
  auto values = numbers(20);
  values[3] = HUGE_VALF;
  auto bad = tensor({5, 4}, values);
  dl4_tensor *in = bad, *out = nullptr;
  feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);  // NaN and infinity in a run are no signal
  dl4_error *e = dl4_session_run(s, &in, 1, &out, 1, nullptr);
  fedisableexcept(FE_ALL_EXCEPT);
  ok(e);
  dl4_release(out);
#endif
}

TEST(Hazard10, LoadingChangesNothing) {
  pid_t child = fork();
  if (child == 0) {
    execl(DL4_LOADER, DL4_LOADER, DL4_LIBRARY, "state", nullptr);
    _exit(3);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// Numbers in JSON keep their point where people write a comma.
TEST(Hazard10, ACommaLocaleChangesNoNumber) {
  fs::path folder = fs::temp_directory_path() / ("dl4-locale-" + std::to_string(getpid()));
  const char *found = nullptr;
  for (const char *name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"})
    if (!found && setlocale(LC_ALL, name)) found = name;
  if (!found) {  // none installed: make one, where its sources are
    fs::create_directories(folder);
    std::string command = "localedef -i de_DE -f UTF-8 '" + (folder / "de_DE.UTF-8").string() + "' >/dev/null 2>&1";
    setenv("LOCPATH", folder.c_str(), 1);
    if (std::system(command.c_str()) == 0 && setlocale(LC_ALL, "de_DE.UTF-8")) found = "de_DE.UTF-8";
    unsetenv("LOCPATH");
  }
  if (!found) {
    fs::remove_all(folder);
    GTEST_SKIP() << "no locale with a decimal comma is installed, and none can be made";
  }
  std::string comma = localeconv()->decimal_point, text, saved, history;
  {
    Own<dl4_graph> g;
    Own<dl4_blob> blob, bytes, told;
    ok(dl4_graph_create(nullptr, g.out()));
    add(g, "Dropout", nullptr, R"({"rate": 0.125})", input(g, "x", {-1, 4}));
    ok(dl4_describe(g, DL4_FORMAT_JSON, blob.out()));
    text = dl4_blob_data(blob);
    auto c = small_net();
    ok(dl4_model_save_bytes(c, nullptr, bytes.out()));
    Own<dl4_model> loaded;
    ok(load_copy(nullptr, dl4_blob_data(bytes), dl4_blob_size(bytes), nullptr, loaded.out()));
    auto t = trainer(
        c, R"({"optimizer": {"class_name": "SGD", "config": {"learning_rate": 0.0625}}, "loss": "MeanSquaredError"})");
    auto x = tensor({4, 4}, numbers(16)), y = tensor({4, 3}, numbers(12));
    auto data = dataset(x, y);
    double rate = 0;
    ok(dl4_trainer_get_number(t, "learning_rate", &rate));
    EXPECT_EQ(rate, 0.0625);
    ok(dl4_trainer_fit(t, data, nullptr, nullptr, nullptr, nullptr, nullptr, told.out()));
    history = dl4_blob_data(told);
    EXPECT_STREQ(setlocale(LC_ALL, nullptr), found);
  }
  setlocale(LC_ALL, "C");
  fs::remove_all(folder);
  EXPECT_EQ(comma, ",");
  EXPECT_NE(text.find(R"("rate":0.125)"), std::string::npos) << text;
  EXPECT_TRUE(nlohmann::json::parse(history).at("loss")[0].is_number_float()) << history;
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
