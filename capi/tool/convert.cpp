// dl4 convert.
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "models.hpp"

namespace dl4::tool {
namespace {

struct ConvertOptions {
  std::string from, to, weights, names, format = "auto", quantize;
};

// Does --weights say a type, as it does of `run` and `bench`, and no file?
bool is_mode(const std::string &weights) {
  const std::string word = weights.substr(0, weights.find('/'));
  return word == "int8" || word == "int4" || word == "float8" || word == "bfloat16" || word == "gptq" || word == "awq";
}

void load_weights(const Model &m, const ConvertOptions &o) {
  Attrs how;
  if (!o.names.empty()) how = Attrs{{"names", Attrs::json(read_text(o.names))}};
  dl4::check(dl4_model_load_weights(m, o.weights.c_str(), how.c_str()));
}

// Read once more, with an option.
Model quantized(const Model &m, const std::string &mode) {
  dl4_blob *made = nullptr;
  dl4::check(dl4_model_save_bytes(m, nullptr, &made));
  const std::unique_ptr<dl4_blob, void (*)(void *)> bytes(made, dl4_release);
  const int64_t size = dl4_blob_size(bytes.get());
  dl4_tensor *room = nullptr;
  dl4::check(dl4_tensor_create(nullptr, DL4_UINT8, 1, &size, &room));
  const Tensor file(room);
  dl4::check(dl4_tensor_copy_in(file, dl4_blob_data(bytes.get()), size));
  dl4_model *to = nullptr;
  dl4::check(dl4_model_load_bytes(nullptr, file, Attrs{{"quantize", mode}}.c_str(), &to));
  return Model(to);
}

}  // namespace

Command convert_command(const Common &common) {
  auto o = std::make_shared<ConvertOptions>();
  return {
      "convert",
      "a model from one format into another",
      {{"A", "A", "a model, or an architecture in JSON", &o->from, true},
       {"B", "B", "what is written: .safetensors (ours), .keras, .weights.h5, .npz, .onnx, .json (architecture)",
        &o->to, true},
       {"--weights", "FILE", "weights that the model is given first: .weights.h5, .npz, .safetensors ...; or a MODE",
        &o->weights},
       {"--names", "FILE", "JSON: by weight the name of its tensor in that file, or how to make it of some", &o->names},
       {"--quantize", "MODE", "weights in fewer bits, as Keras's quantize(): int8, int4/128, int4/-1", &o->quantize},
       {"--format", "FORMAT", "auto (by the end of B), native, keras, weights.h5, npz or onnx", &o->format}},
      [=, &common] {
        if (is_mode(o->weights)) {
          if (!o->quantize.empty()) throw Refusal(usage, "--quantize and --weights " + o->weights + " both say a mode");
          o->quantize = std::exchange(o->weights, "");
        }
        if (!o->names.empty() && o->weights.empty()) throw Refusal(usage, "--names is for --weights");
        Model m = open_model(common, o->from);
        if (!o->weights.empty()) load_weights(m, *o);
        if (!o->quantize.empty()) m = quantized(m, o->quantize);
        if (ends_with(o->to, ".json") && o->format == "auto")
          write_text(o->to, architecture(m).dump(2) + '\n');
        else
          dl4::check(dl4_model_save(m, o->to.c_str(), Attrs{{"format", o->format}}.c_str()));
        if (common.json) print(Json{{"from", o->from}, {"written", o->to}});
        return done;
      }};
}

}  // namespace dl4::tool
