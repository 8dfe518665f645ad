#include "io/formats.hpp"

#include "io/keras/file.hpp"
#include "io/native/model.hpp"
#include "io/zip/npz.hpp"
#if DL4_ONNX
#include "io/onnx/onnx.hpp"
#endif

namespace dl4::io {
namespace {

// A ModelProto: ir_version, a small number, then another of its fields by tag (its number times 8, plus the wire type).
bool is_onnx(const Source &source, Budget &) {
  constexpr std::string_view tags("\x12\x1a\x22\x28\x32\x3a\x42\x72");  // producer_name ... graph, opset_import ...
  std::string first(static_cast<size_t>(std::min<int64_t>(source.size(), 16)), '\0');
  source.read(0, std::as_writable_bytes(std::span(first)));
  return first.size() > 8 && first[0] == '\x08' && first[1] > 0 && first[1] < 64 && tags.find(first[2]) != tags.npos &&
         first[8] != '{';  // behind the length of a safetensors header
}

#if DL4_ONNX
void save_onnx(const graph::Model &m, const Write &write) {
  const std::string bytes = onnx_bytes(m);
  const std::string_view whole[] = {bytes};
  write(whole);
}
#else
[[noreturn]] void refuse_onnx() {
  throw Error(Code::unsupported, "this build of the library has no ONNX: expected one with DL4_ONNX=ON")
      .with("got", "an ONNX file");
}
std::shared_ptr<graph::Model> load_onnx(const Source &, const graph::Settings &, Budget &, const Loading &, Told &) {
  refuse_onnx();
}
void save_onnx(const graph::Model &, const Write &) { refuse_onnx(); }
#endif

}  // namespace

const std::vector<Format> &formats() {
  static const std::vector<Format> rows = {
      {.name = "native",
       .title = "native",
       .suffixes = {".safetensors", ".dl4"},
       .checkpoint = ".checkpoint",
       .is = [](const Source &, Budget &) { return true; },  // or refused by what is read
       .load = native::load,
       .save = native::save,
       .weights = native::weights,
       .save_trainer = native::save_trainer,
       .load_trainer = native::load_trainer},
      {.name = "keras",
       .title = "Keras",
       .suffixes = {".keras"},
       .trained = true,
       .is = keras::is_file,
       .load = keras::load,
       .save = keras::save,
       .weights = keras::weights,
       .save_trainer = keras::save_trainer,
       .load_trainer = keras::load_trainer},
      {.name = "weights.h5", .title = "Keras", .suffixes = {".weights.h5"}, .save = keras::save_weights},
      {.name = "npz",
       .title = "NumPy",
       .suffixes = {".npz"},
       .is = is_npz,
       .save =
           [](const graph::Model &m, const Write &write) {
             NpzFile file;
             for (const auto &w : m.weights()) file.tensors.emplace_back(w->name, w->value());
             write(file.parts());
           },
       .weights =
           [](const graph::Model &m, const Source &source, Budget &budget, const Naming &naming, bool verified) {
             return named_weights(m, read_npz(Zip(source, budget), budget, verified), naming);
           }},
      {.name = "onnx",
       .title = "ONNX",
       .suffixes = {".onnx"},
       .is = is_onnx,
       .load = load_onnx,
       .save = save_onnx,
       .weights = [](const graph::Model &, const Source &, Budget &, const Naming &, bool) -> std::vector<Tensor> {
         throw Error(Code::unsupported, "an ONNX file has its weights in its nodes: expected a file of tensors by name")
             .with("expected", "a file of tensors by name")
             .with("got", "an ONNX file");
       }},
  };
  return rows;
}

std::span<const char *const> save_formats() {
  static const std::vector<const char *> words = [] {
    std::vector<const char *> all{"auto"};
    for (const Format &f : formats()) all.push_back(f.name);
    return all;
  }();
  return words;
}

namespace {

// That of a file, of those that have a function.
template <class F>
const Format &format_of(const Source &source, Budget &budget, F Format::*function) {
  auto row = formats().rbegin();
  while (!(*row.*function && row->is && row->is(source, budget))) ++row;
  return *row;
}

// That of a path's suffix; of those that hold a trainer, with their checkpoints' suffixes.
const Format &format_of(const std::string &path, bool trainer) {
  std::vector<std::string> known;
  for (const Format &f : formats()) {
    if (trainer && !f.save_trainer) continue;
    std::vector<std::string> own = f.suffixes;
    if (trainer && f.checkpoint) own.emplace_back(f.checkpoint);
    for (const std::string &suffix : own) {
      if (path.ends_with(suffix)) return f;
      known.push_back(suffix);
    }
  }
  expect_suffix(path, known);
  return formats()[0];
}

Write to_file(const std::string &path) {
  return [&path](std::span<const std::string_view> parts) { write_file(path, parts); };
}

}  // namespace

const Format &format_of(const std::string &path) { return format_of(path, false); }

std::string save_model(const graph::Model &m, const Format &format) {
  return saved_bytes([&](const Write &write) { format.save(m, write); });
}
void save_model(const graph::Model &m, const std::string &path, const Format &format) { format.save(m, to_file(path)); }
void save_model(const train::Trainer &t, const std::string &path) {
  const Format &format = format_of(path);
  format.trained ? format.save_trainer(t, to_file(path)) : format.save(t.model(), to_file(path));
}

std::shared_ptr<graph::Model> load_model(const Source &source, const graph::Settings &settings, const Loading &how,
                                         Told *told) {
  Budget budget = budget_for(settings, source.size());
  Told all;
  const Format &format = format_of(source, budget, &Format::load);
  auto model = format.load(source, settings, budget, how, all);
  if (how.weights) check_quantized(model->weights());
  all.format = format.title;
  if (told) *told = std::move(all);
  return model;
}

void load_weights(graph::Model &m, const Source &source, const Naming &naming, bool verified) {
  Budget budget = budget_for(m.graph().settings(), source.size());
  std::vector<Tensor> values = format_of(source, budget, &Format::weights).weights(m, source, budget, naming, verified);
  check_quantized(m.weights(), values);
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].data) m.weights()[i]->set(std::move(values[i]));
}

std::string save_checkpoint(const train::Trainer &t) {
  return saved_bytes([&](const Write &write) { formats()[0].save_trainer(t, write); });
}
void save_checkpoint(const train::Trainer &t, const std::string &path) {
  format_of(path, true).save_trainer(t, to_file(path));
}

void load_checkpoint(train::Trainer &t, const Source &source) {
  Budget budget = budget_for(t.model().graph().settings(), source.size());
  format_of(source, budget, &Format::load_trainer).load_trainer(t, source, budget);
}

}  // namespace dl4::io
