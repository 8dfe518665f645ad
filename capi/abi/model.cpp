// Models: weights and files.
#include "base/os/file.hpp"
#include "graph/rewrite.hpp"
#include "io/formats.hpp"
#include "options.hpp"

namespace dl4::capi {
namespace {

constexpr char verified[] = "check sums and sizes of every tensor";

struct LoadOptions {
  bool verify = true, external_data = true, weights = true;
  Json quantize;
  bool merge_lora = false;
  void fields(kinds::Fields &f) {
    f("verify", verify, verified);
    f("external_data", external_data,
      "read tensors of an ONNX model that lie in other files of its folder, where it is loaded by its path");
    f("weights", weights, "read the weights; else they are zeros");
    f("quantize", quantize,
      "what becomes of the weights, as by Keras's quantize(): a mode, or an object with \"mode\", \"layers\", "
      "\"value_range\" and \"epsilon\"; null: nothing");
    f("merge_lora", merge_lora, "layers lose their LoRA, whose products become part of the kernels");
  }
};

// path: "" for bytes in memory.
dl4_model *load(dl4_context &c, const io::Source &source, const LoadOptions &how, const std::string &path) {
  const Stopwatch watch;
  const std::string beside = os::utf8(os::path(path).parent_path());
  const std::string folder = beside.empty() && !path.empty() ? "." : beside;
  io::Told told;
  auto core =
      io::load_model(source, c.core->settings(), {how.verify, how.weights, how.external_data ? folder : ""}, &told);
  if (how.merge_lora) core = graph::without_lora(*core);
  if (!how.quantize.is_null()) {
    graph::Quantize to;
    kinds::read_fields(to, how.quantize.is_string() ? Json{{"mode", how.quantize}} : how.quantize);
    core = graph::quantized(*core, to);
  }
  c.core->log.write(Log::info, "loaded ", path.empty() ? "a model in memory" : text('"', path, '"'), ": ", told.format,
                    ", ", source.size(), " bytes, ", watch.told());
  for (const std::string &type : told.types)
    c.core->log.write(Log::warning, path.empty() ? "the model" : text('"', path, '"'), " computes in ", type,
                      " where it was made, and in float32 here");
  auto *m = new dl4_model(c.core, std::move(core), std::make_shared<Gate>());
  m->training = std::move(told.training);
  return m;
}

struct LoadWeightsOptions {
  bool verify = true;
  io::Naming naming;
  void fields(kinds::Fields &f) {
    f("verify", verify, verified);
    f("names", naming.names, "of a file of tensors by name: by weight the tensor's name, or how to make it of some");
    f("partial", naming.partial, "what stands on one side only, in the file or the model, is left as it is");
  }
};

struct SaveOptions {
  enum class Format { automatic } format = Format::automatic;
  void fields(kinds::Fields &f) {
    f("format", format, io::save_formats(), "auto: as the end of the path says, else native");
  }
};

const io::Format &format_of(const char *options, const std::string &path = "") {
  const auto which = static_cast<size_t>(read_options<SaveOptions>(options).format);
  return which ? io::formats()[which - 1] : io::format_of(path);
}

}  // namespace

Json describe_load_options() { return kinds::describe_fields<LoadOptions>(); }
Json describe_load_weights_options() { return kinds::describe_fields<LoadWeightsOptions>(); }
Json describe_save_options() { return kinds::describe_fields<SaveOptions>(); }

std::string describe(dl4_model &m, int32_t format) {
  Gate::Reading reading(*m.weights, "model");
  if (format == DL4_FORMAT_JSON) return dump(graph::to_json(m.core->architecture()));
  if (format == DL4_FORMAT_TEXT) return m.core->summary();
  if (format == DL4_FORMAT_DOT) return m.core->dot();
  refuse_format(Tag::model, format);
}

}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

dl4_model::dl4_model(std::shared_ptr<Context> context, std::shared_ptr<graph::Model> core,
                     std::shared_ptr<Gate> weights)
    : Object(type), context(std::move(context)), core(std::move(core)), weights(std::move(weights)) {
  for (size_t i = 0; i < this->core->inputs().size(); ++i) input_names.push_back(this->core->input_name(i));
  for (size_t i = 0; i < this->core->outputs().size(); ++i) output_names.push_back(this->core->output_name(i));
}

dl4_error *dl4_model_load(dl4_context *c, const char *path, const char *options, dl4_model **out) {
  return produce(__func__, out, [&](Entry &entry) {
    dl4_context &context = capi::context(c);
    entry.log_to(context.core->log);
    const std::string from = string(path, "path");
    const auto how = read_options<LoadOptions>(options);
    return with_path(from,
                     [&] { return load(context, io::File(from, context.core->settings().memory_limit), how, from); });
  });
}

dl4_error *dl4_model_load_bytes(dl4_context *c, const dl4_tensor *file, const char *options, dl4_model **out) {
  return produce(__func__, out, [&](Entry &entry) {
    dl4_context &context = capi::context(c);
    entry.log_to(context.core->log);
    const dl4_tensor &bytes = object(file, "file");
    if (bytes.dtype != DType::u8 || bytes.shape.rank() != 1)
      refuse_argument("file", text("expected uint8 of rank 1, got ", bytes.dtype, ' ', bytes.shape));
    return load(context, io::SharedMemory(bytes.as_dense()), read_options<LoadOptions>(options), "");
  });
}

dl4_error *dl4_model_load_weights(dl4_model *m, const char *path, const char *options) {
  return guard(__func__, [&](Entry &entry) {
    dl4_model &model = object(m, "model");
    entry.log_to(model.context->log);
    const Stopwatch watch;
    const std::string from = string(path, "path");
    const auto how = read_options<LoadWeightsOptions>(options);
    Gate::Alone alone(*model.weights, "model");
    const int64_t bytes = with_path(from, [&] {
      const io::File file(from, model.context->settings().memory_limit);
      io::load_weights(*model.core, file, how.naming, how.verify);
      return file.size();
    });
    model.context->log.write(Log::info, "loaded weights from \"", from, "\": ", bytes, " bytes, ", watch.told());
  });
}

dl4_error *dl4_model_save(const dl4_model *m, const char *path, const char *options) {
  return guard(__func__, [&](Entry &entry) {
    const dl4_model &model = object(m, "model");
    entry.log_to(model.context->log);
    const Stopwatch watch;
    std::string to = string(path, "path");
    const io::Format &format = format_of(options, to);
    Gate::Reading reading(*model.weights, "model");
    io::save_model(*model.core, to, format);
    model.context->log.write(Log::info, "saved \"", to, "\": ", watch.told());
  });
}

dl4_error *dl4_model_save_bytes(const dl4_model *m, const char *options, dl4_blob **out) {
  return produce(__func__, out, [&] {
    const dl4_model &model = object(m, "model");
    const io::Format &format = format_of(options);
    Gate::Reading reading(*model.weights, "model");
    return make_blob(io::save_model(*model.core, format));
  });
}

dl4_error *dl4_model_clone(const dl4_model *m, dl4_model **out) {
  return produce(__func__, out, [&] {
    const dl4_model &model = object(m, "model");
    Gate::Reading reading(*model.weights, "model");
    return new dl4_model(model.context, model.core->clone(), std::make_shared<Gate>());
  });
}

dl4_error *dl4_model_get_trainable(const dl4_model *m, const char *name, int32_t *out) {
  return produce(__func__, out, [&] {
    const dl4_model &model = object(m, "model");
    return model.core->weight(string(name, "name"))->trainable();
  });
}

dl4_error *dl4_model_get_weight(const dl4_model *m, const char *name, dl4_tensor **out) {
  return produce(__func__, out, [&] {
    const dl4_model &model = object(m, "model");
    Gate::Reading reading(*model.weights, "model");
    return new dl4_tensor(model.core->get_weight(string(name, "name")));
  });
}

dl4_error *dl4_model_set_weight(dl4_model *m, const char *name, const dl4_tensor *v) {
  return guard(__func__, [&] {
    dl4_model &model = object(m, "model");
    const dl4_tensor &value = object(v, "value");
    Gate::Between alone(*model.weights, "model");
    std::string which = string(name, "name");
    model.core->need_fit(which, value.dtype, value.shape);
    model.core->set_weight(which, value.as_dense());
  });
}

dl4_error *dl4_model_set_trainable(dl4_model *m, const char *name, int32_t trainable) {
  return guard(__func__, [&] {
    dl4_model &model = object(m, "model");
    std::string which = string(name, "name");
    Gate::Alone alone(*model.weights, "model");
    model.core->set_trainable(which, trainable != 0);
  });
}
