// Validity of a quantized layer's weights.
#include <cmath>

#include "io/formats.hpp"

namespace dl4::io {
namespace {

template <class... A>
[[noreturn]] void refuse(const graph::Weight &w, const A &...a) {
  throw Error(Code::corrupt_file, text("weight \"", w.name, "\": ", a...))
      .with("weight", w.name)
      .with("tensor", w.name);
}

// A layer's weights by their names in it.
using Members = std::map<std::string_view, size_t>;

struct Check {
  const std::vector<std::shared_ptr<graph::Weight>> &weights;
  const std::vector<Tensor> &values;

  void layer(const Members &members) const {
    const auto find = [&](std::string_view name) -> const size_t * {
      const auto it = members.find(name);
      return it == members.end() || !values[it->second].data ? nullptr : &it->second;
    };
    for (const char *name : {"kernel_scale", "embeddings_scale", "reverse_embeddings_scale", "awq_scales"})
      if (const size_t *i = find(name)) scales(*i);
    for (const char *name : {"kernel_zero", "embeddings_zero", "reverse_embeddings_zero"})
      if (const size_t *i = find(name)) nibbles(*i);
    const size_t *groups = find("g_idx");
    // Groups are along the last axis of the scales for tables and transposed kernels, else along the first.
    for (const char *name : {"kernel_scale", "embeddings_scale"}) {
      const auto it = members.find(name);
      if (!groups || it == members.end()) continue;
      const Shape &s = weights[it->second]->spec.shape;
      const bool last = name[0] == 'e' || members.count("quantized_kernel") != 0;
      in_range(*groups, s[last ? s.rank() - 1 : 0]);
    }
  }

 private:
  void scales(size_t i) const {
    for (int64_t k = 0; k < values[i].elements(); ++k)
      if (const float v = values[i].as<float>()[k]; v == 0 || !std::isfinite(v))
        refuse(*weights[i], "expected scales other than 0, got ", v);
  }
  // GPTQ's and AWQ's are bytes: for groups of negative numbers, above 15.
  void nibbles(size_t i) const {
    const bool floats = values[i].dtype == DType::f32;  // those of reverse_embeddings
    for (int64_t k = 0; k < values[i].elements(); ++k)
      if (const float v = floats ? values[i].as<float>()[k] : static_cast<int8_t>(values[i].as<uint8_t>()[k]);
          !(v >= -8 && v <= 7))
        refuse(*weights[i], "expected zero points of 4 bits, from -8 to 7, got ", v);
  }
  void in_range(size_t i, int64_t groups) const {
    for (int64_t k = 0; k < values[i].elements(); ++k) {
      const float v = values[i].as<float>()[k];
      if (!(v >= 0 && v < static_cast<float>(groups)))  // Keras's GPTQ stores position / group_size, which is truncated
        refuse(*weights[i], "expected the numbers of ", groups, " groups, got ", v);
    }
  }
};

}  // namespace

void check_quantized(const std::vector<std::shared_ptr<graph::Weight>> &weights, const std::vector<Tensor> &values) {
  std::map<std::string_view, Members> layers;
  std::map<std::string_view, bool> quantized;
  for (size_t i = 0; i < weights.size(); ++i) {
    const std::string_view name = weights[i]->name;
    const size_t slash = name.rfind('/');
    if (slash == name.npos) continue;
    layers[name.substr(0, slash)][name.substr(slash + 1)] = i;
    quantized[name.substr(0, slash)] |= weights[i]->spec.dtype == DType::u8;
  }
  for (const auto &[layer, members] : layers)
    if (quantized[layer]) Check{weights, values}.layer(members);
}

void check_quantized(const std::vector<std::shared_ptr<graph::Weight>> &weights) {
  std::vector<Tensor> values;
  for (const auto &w : weights) values.push_back(w->value());
  check_quantized(weights, values);
}

}  // namespace dl4::io
