// All readers of files, each given bytes: by libFuzzer (cmake --preset fuzz) or, in every run of the tests, the seeds.
// Bytes end in something that works or in a refusal. A reader's name is the ending of its seeds' names.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "capi/signed.hpp"
#include "capi/use.hpp"
#include "fuzz/onnx_nodes.hpp"
#include "harness/folder.hpp"

namespace {

using namespace dl4_test;
using nlohmann::json;

// Nothing is wrong with the library, and what is refused is refused in words.
bool taken(dl4_error *e) {
  const bool yes = e == nullptr;
  const Refusal r = refusal(e);
  EXPECT_NE(r.code, DL4_INTERNAL) << r.message;
  EXPECT_EQ(yes, r.message.empty());
  return yes;
}

dl4_context *within_limits() {
  static const Own<dl4_context> c = bounded();
  return c;
}

// Bytes as a file, for calls that ask for a path.
const char *file_of(const std::string &bytes) {
  static const int fd = memfd_create("bytes", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  EXPECT_EQ(ftruncate(fd, 0), 0);
  EXPECT_EQ(pwrite(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  return path.c_str();
}

// As by someone who makes the checksums fit.
std::string summed(const std::string &bytes) {
  uint64_t n = 0;
  if (bytes.size() >= sizeof n) std::memcpy(&n, bytes.data(), sizeof n);
  if (n == 0 || n > bytes.size() - sizeof n) return bytes;
  const auto shallow = [](int depth, json::parse_event_t, const json &) { return depth < 100; };
  const json header = json::parse(bytes.substr(sizeof n, n), shallow, false);
  return header.is_discarded() ? bytes : with_sums(header, bytes.substr(sizeof n + n));
}

// ---- Readers ------------------------------------------------------------------------------------------------------

// As many numbers as a model of weights W may take in one input, so that a run takes no time to speak of.
bool small(const dl4_model *m, const std::vector<Own<dl4_tensor>> &in) {
  int64_t weights = 1, elements = 1;
  for (int64_t i = 0; i < dl4_port_count(m, DL4_WEIGHTS); ++i) {
    int64_t dims[8], n = 1;
    int32_t rank = 0;
    ok(dl4_port_shape(m, DL4_WEIGHTS, i, dims, 8, &rank));
    for (int32_t d = 0; d < rank; ++d) n *= dims[d];
    weights += n;
  }
  for (const auto &t : in) elements += dl4_tensor_bytes(t);
  return weights <= 1'000'000 && elements <= 100'000 && weights * elements <= 1'000'000'000;
}

using Tensors = std::vector<dl4_tensor *>;

bool run(dl4_session *s, const Tensors &x, std::vector<Own<dl4_tensor>> &y) {
  Tensors to(y.size(), nullptr);
  const bool yes = taken(dl4_session_run(s, x.data(), static_cast<int64_t>(x.size()), to.data(),
                                         static_cast<int64_t>(to.size()), nullptr));
  for (size_t i = 0; i < y.size(); ++i) y[i] = Own<dl4_tensor>(to[i]);
  return yes;
}

// Gradients of a batch whose targets are what the model itself gave, and a step on them.
void train(dl4_trainer *t, const Tensors &x, const std::vector<Own<dl4_tensor>> &targets) {
  const Tensors y(targets.begin(), targets.end());
  const auto nx = static_cast<int64_t>(x.size()), ny = static_cast<int64_t>(y.size());
  if (taken(dl4_trainer_accumulate(t, x.data(), nx, y.data(), ny, nullptr, 0, nullptr, 0, nullptr))) {
    Own<dl4_tensor> all;
    taken(dl4_trainer_get_gradient(t, "*", all.out()));
    taken(dl4_trainer_zero_gradients(t));
  }
  taken(dl4_trainer_step(t, x.data(), nx, y.data(), ny, nullptr, 0, nullptr, 0, nullptr));
}

// Runs, differentiates and trains. with: a trainer that the model has already, or null.
void work(dl4_model *m, dl4_trainer *with) {
  Own<dl4_session> s;
  if (!taken(dl4_session_create(m, nullptr, s.out()))) return;
  const auto in = inputs_of(s, 2);
  if (!in || !small(m, *in)) return;
  const Tensors x(in->begin(), in->end());
  std::vector<Own<dl4_tensor>> y(static_cast<size_t>(dl4_port_count(m, DL4_OUTPUTS)));
  if (!run(s, x, y)) return;
  if (with) return train(with, x, y);
  constexpr const char *options = R"({"optimizer": "SGD", "loss": "mse", "nan_guard": "off"})";
  Own<dl4_trainer> t;
  if (taken(dl4_trainer_create(m, options, t.out()))) train(t, x, y);
}

// A model that was read can be written, read again, run and trained.
bool use(dl4_model *m, dl4_trainer *with = nullptr) {
  const std::string bytes = saved(m);
  Refusal r;
  const auto again = load(within_limits(), bytes, r);
  EXPECT_EQ(r.code, 0) << r.message;
  EXPECT_TRUE(again && saved(again) == bytes);
  for (const char *format : {"keras", "onnx"}) {
    Own<dl4_blob> b;
    taken(dl4_model_save_bytes(m, json{{"format", format}}.dump().c_str(), b.out()));
  }
  work(m, with);
  return true;
}

bool read_model(const std::string &bytes) {
  constexpr const char *unverified = R"({"verify": false})";
  Own<dl4_model> m;
  return taken(load_copy(within_limits(), bytes.data(), static_cast<int64_t>(bytes.size()), unverified, m.out())) &&
         use(m);
}

bool read_native(const std::string &bytes) {
  const std::string fits = summed(bytes);
  Own<dl4_model> m;
  taken(load_copy(within_limits(), fits.data(), static_cast<int64_t>(fits.size()), nullptr, m.out()));
  return read_model(bytes);
}

// What the model was compiled with, and its optimizer's variables, too.
bool read_keras(const std::string &bytes) {
  constexpr const char *unverified = R"({"verify": false})";
  Own<dl4_model> m;
  Own<dl4_trainer> t;
  const auto size = static_cast<int64_t>(bytes.size());
  if (!taken(load_copy(within_limits(), bytes.data(), size, unverified, m.out()))) return false;
  if (taken(dl4_trainer_create(m, nullptr, t.out()))) taken(dl4_trainer_load_bytes(t, bytes.data(), size));
  return use(m, t);
}

bool read_weights(const std::string &bytes) {
  static const auto m = [] {
    Own<dl4_model> model;
    ok(dl4_model_load(within_limits(), DL4_SOURCE_DIR "/tests/io/data/sequential.keras", nullptr, model.out()));
    return model;
  }();
  constexpr const char *plain = R"({"verify": false})", *named = R"({"verify": false, "partial": true,
      "names": {"dense/bias": {"tensors": ["<f4"], "rows": [0, 1], "reshape": [3], "gates": [1, 0, 2]}}})";
  const char *file = file_of(bytes);
  taken(dl4_model_load_weights(m, file, named));
  if (!taken(dl4_model_load_weights(m, file, plain))) return false;
  work(m, nullptr);
  return true;
}

bool read_tensor(const std::string &bytes) {
  Own<dl4_tensor> t;
  return taken(dl4_tensor_load(within_limits(), file_of(bytes), nullptr, t.out()));
}

bool read_checkpoint(const std::string &bytes) {
  static const auto m = small_net(within_limits());
  static const auto t = trainer(m, R"({"optimizer": "Adam", "loss": "MeanSquaredError", "metrics": ["mae"]})");
  const std::string fits = summed(bytes);
  if (!taken(dl4_trainer_load_bytes(t, fits.data(), static_cast<int64_t>(fits.size())))) return false;
  Own<dl4_blob> b;
  ok(dl4_trainer_save_bytes(t, b.out()));
  ok(dl4_trainer_load_bytes(t, dl4_blob_data(b), dl4_blob_size(b)));
  work(m, t);
  return true;
}

bool read_stream(const std::string &bytes) {
  static const auto stream = [] {
    Own<dl4_graph> g;
    Own<dl4_model> m;
    Own<dl4_session> s;
    Own<dl4_stream> made;
    ok(dl4_graph_create(within_limits(), g.out()));
    const dl4_node x = input(g, "x", {-1, -1, 3}), y = add(g, "LSTM", "loop", R"({"units": 4})", x);
    ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
    ok(dl4_session_create(m, R"({"states": true})", s.out()));
    ok(dl4_stream_create(s, nullptr, made.out()));
    return made;
  }();
  const std::string fits = summed(bytes);
  if (!taken(dl4_stream_load_bytes(stream, fits.data(), static_cast<int64_t>(fits.size())))) return false;
  const auto x = tensor({1, 2, 3}, numbers(6));
  dl4_tensor *from[] = {x};
  Own<dl4_tensor> y;
  return taken(dl4_stream_run(stream, from, 1, y.out(), 1, nullptr));
}

bool read_architecture(const std::string &bytes) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(within_limits(), g.out()));
  return taken(dl4_graph_add_json(g, bytes.c_str())) && taken(dl4_graph_build(g, nullptr, 0, nullptr, 0, m.out())) &&
         use(m);
}

// As a trainer's: losses, metrics, optimizers and schedules, one inside the other.
bool read_attributes(const std::string &bytes) {
  static const auto fresh = small_net(within_limits());
  Own<dl4_model> m;
  Own<dl4_trainer> t;
  ok(dl4_model_clone(fresh, m.out()));
  if (!taken(dl4_trainer_create(m, bytes.c_str(), t.out()))) return false;
  work(m, t);
  return true;
}

const std::map<std::string, bool (*)(const std::string &)> readers = {
    {"attrs", read_attributes}, {"checkpoint", read_checkpoint}, {"h5", read_keras},      {"json", read_architecture},
    {"keras", read_keras},      {"native", read_native},         {"npy", read_tensor},    {"npz", read_weights},
    {"onnx", read_model},       {"safetensors", read_weights},   {"stream", read_stream}, {"weights.h5", read_weights}};

// ---- Seeds --------------------------------------------------------------------------------------------------------

class Seeds : public testing::TestWithParam<std::string> {};

TEST_P(Seeds, AreReadOrRefused) {
  int read = 0, seeds = 0;
  for (const char *folder : {DL4_SOURCE_DIR "/tests/fuzz/seeds", DL4_SOURCE_DIR "/tests/io/data"})
    for (const auto &seed : std::filesystem::recursive_directory_iterator(folder)) {
      if (!seed.path().filename().string().ends_with('.' + GetParam())) continue;
      SCOPED_TRACE(seed.path());
      read += readers.at(GetParam())(bytes_of(seed.path()));
      ++seeds;
    }
  EXPECT_GT(read, 0) << "of " << seeds;
}

// Nodes with an input less, an attribute more, in the bodies of an If: mostly refused, by node.
TEST(ChangedNodes, AreReadOrRefused) {
  const uint32_t each = std::getenv("DL4_FULL_TESTS") ? 4000 : 40;
  uint32_t read = 0, all = 0;
  for (const auto &seed : std::filesystem::recursive_directory_iterator(DL4_SOURCE_DIR "/tests/fuzz/seeds")) {
    if (!seed.path().filename().string().ends_with(".onnx")) continue;
    std::string bytes = bytes_of(seed.path());
    for (uint32_t i = 0; i < each; ++i) {
      SCOPED_TRACE(seed.path().string() + ' ' + std::to_string(i));
      const std::string one = onnx_nodes::changed(bytes, i);
      bytes = i % 8 == 7 ? bytes_of(seed.path()) : i % 4 == 3 ? one : bytes;  // up to two changes
      Own<dl4_model> m;
      read += taken(load_copy(within_limits(), one.data(), static_cast<int64_t>(one.size()), nullptr, m.out()));
      ++all;
    }
  }
  EXPECT_GT(read, all / 50);
  EXPECT_LT(read, all / 2);
}

std::vector<std::string> endings() {
  std::vector<std::string> names;
  for (const auto &[name, reader] : readers) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Readers, Seeds, testing::ValuesIn(endings()), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace

// ---- libFuzzer ----------------------------------------------------------------------------------------------------

namespace {

// The models of the goldens as files of a format, one of each set of layers.
void write_goldens(const std::string &format, const std::filesystem::path &folder) {
  std::set<std::set<std::string>> known;
  for (const auto &golden : std::filesystem::directory_iterator(DL4_SOURCE_DIR "/tests/golden")) {
    if (golden.path().extension() != ".safetensors") continue;
    const std::string bytes = bytes_of(golden.path());
    uint64_t n = 0;
    std::memcpy(&n, bytes.data(), sizeof n);
    const json header = json::parse(bytes.substr(sizeof n, n));
    for (const json &c : json::parse(header["__metadata__"]["cases"].get<std::string>())) {
      if (!c.contains("model")) continue;
      std::set<std::string> kinds;
      for (const json &layer : c["model"]["layers"]) kinds.insert(layer["class_name"].get<std::string>());
      if (!known.insert(kinds).second) continue;
      const std::string text = c["model"].dump();
      const auto path = folder / (golden.path().stem().string() + '_' + c["name"].get<std::string>());
      if (format == "json") {
        std::ofstream(path) << text;
        continue;
      }
      Own<dl4_graph> g;
      Own<dl4_model> m;
      ok(dl4_graph_create(within_limits(), g.out()));
      ok(dl4_graph_add_json(g, text.c_str()));
      ok(dl4_graph_build(g, nullptr, 0, nullptr, 0, m.out()));
      taken(dl4_model_save(m, path.c_str(), json{{"format", format}}.dump().c_str()));
    }
  }
}

}  // namespace

namespace {

std::string reader_of_files;

}  // namespace

// Of which files: as the program's name ends, dl4_fuzz_onnx, or as DL4_FUZZ_READER says.
extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) {
  GTEST_FLAG_SET(throw_on_failure, true);  // outside of a test what is expected and not so ends the process
  const std::string program = std::filesystem::path((*argv)[0]).filename().string(), named = "dl4_fuzz_";
  const char *given = std::getenv("DL4_FUZZ_READER");
  reader_of_files = program.starts_with(named) ? program.substr(named.size()) : given ? given : "";
  if (!readers.contains(reader_of_files)) {
    std::fprintf(stderr, "DL4_FUZZ_READER: expected one of");
    for (const auto &[name, reader] : readers) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, ", got \"%s\"\n", reader_of_files.c_str());
    return std::exit(1), 1;
  }
  const std::string &format = reader_of_files, corpus = (*argv)[*argc - 1];
  const bool of_models = format == "json" || format == "keras" || format == "native" || format == "onnx";
  if (of_models && given && std::filesystem::is_directory(corpus)) write_goldens(format, corpus);
  return 0;
}

// Of the fuzzing engine, in its program alone.
extern "C" __attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

// Every other change to an ONNX file is one of its nodes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
  if (reader_of_files == "onnx" && seed % 2 == 0) {
    const std::string file(reinterpret_cast<const char *>(data), size), changed = onnx_nodes::changed(file, seed / 2);
    if (changed.size() <= most && changed != file) {
      std::copy(changed.begin(), changed.end(), data);
      return changed.size();
    }
  }
  return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, most) : size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const auto reader = readers.at(reader_of_files);
  reader(std::string(reinterpret_cast<const char *>(data), size));
  return 0;
}
