#include "graph/lora.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "graph/whole_numbers.hpp"
#include "kinds/layers/core/lora.hpp"

namespace dl4::graph {
namespace {

using kinds::Lora;

class Merging {
 public:
  explicit Merging(const Model &m) : m_(m) {}

  std::shared_ptr<Model> run() {
    Architecture a = m_.architecture();
    walk(a, "");
    return model_of(a, m_.graph().settings(), [&](const Weight &w) {
      const auto made = made_.find(w.name);
      if (made != made_.end()) return Tensor{made->second.dtype, w.spec.shape, made->second.data};
      const Weight &same = *m_.weight(w.name);
      return same.block() ? clone(same.value()) : same.value();
    });
  }

 private:
  void walk(Architecture &a, const std::string &prefix) {
    for (Architecture::Layer &l : a.layers) {
      if (l.role != Architecture::Role::kind) continue;
      const std::string below = prefix + l.name + '/';
      std::erase_if(l.frozen, [&](const std::string &name) {
        const auto w = m_.weight(below + name);
        return w && w->spec.lora;
      });
      if (l.class_name == "Functional" && l.config.contains("model")) {
        Architecture inner = read_architecture(l.config["model"]);
        walk(inner, below);
        l.config["model"] = to_json(inner);
      } else {
        layer(l.config, below);
      }
    }
  }

  // Merges a layer's LoRA and those of its inner layers.
  void layer(Json &config, const std::string &below) {
    std::vector<std::string> inner;
    for (const auto &[key, value] : config.items())
      if (const Json *of = value.find("config"); of && value.contains("class_name") && of->contains("name"))
        inner.emplace_back(key);
    for (const std::string &key : inner) {
      Json of = config[key]["config"];
      const std::string name = of.at("name").get<std::string>();
      layer(of, below + name + '/');
      config[key]["config"] = std::move(of);
    }
    if (const Json *rank = config.find("lora_rank"); rank && !rank->is_null()) {
      Lora l;
      l.rank = rank->get<int64_t>();
      if (const Json *alpha = config.find("lora_alpha"); alpha && !alpha->is_null()) l.alpha = alpha->get<double>();
      merge("", config, below, l);
      for (const char *key : {"lora_rank", "lora_alpha"}) config[key] = nullptr;
    }
    if (const Json *lora = config.find("lora"); lora && !lora->is_null()) {
      for (const auto &[name, l] : kinds::from_json<kinds::LoraByName>(*lora))
        merge(name, config, below + name + '/', l);
      config["lora"] = nullptr;
    }
  }

  // of: the name of the projection; "" for the layer's own kernel or table.
  void merge(const std::string &of, const Json &config, const std::string &below, const Lora &lora) {
    const bool table =
        std::ranges::any_of(m_.weights(), [&](const auto &w) { return w->name == below + "lora_embeddings_a"; });
    const std::string name = table ? "embeddings" : "kernel";
    const auto weight = [&](const std::string &key) { return m_.weight(below + key)->value(); };
    const Tensor a = weight(text("lora_", name, "_a")), b = weight(text("lora_", name, "_b"));
    const Shape shape = a.shape.with(-1, b.shape.last());
    const Json *said = config.find("quantization");
    const auto q = said ? kinds::from_json<kinds::Quantized>(*said) : kinds::Quantized();
    if (!q) {
      made_[below + name] = sum(weight(name), a, b, lora);
      return;
    }
    const WholeNumbers numbers(*q);
    WholeWeights made;
    if (table) {
      numbers.table(sum(numbers.table_floats(shape, weight), a, b, lora), made);
    } else {
      const Json *equation = config.find("equation");
      const KernelAxes axes =
          equation ? axes_of(equation->get<std::string>()) : first_axes(of == "attention_output" ? 2 : 1, shape.rank());
      numbers.kernel(sum(numbers.kernel_floats(shape, axes, weight), a, b, lora), axes, made);
    }
    for (auto &[key, value] : made) made_[below + key] = std::move(value);
  }

  static Tensor sum(const Tensor &kernel, const Tensor &a, const Tensor &b, const Lora &lora) {
    Tensor y = clone(kernel);
    const int64_t rank = b.shape[0], columns = b.shape[1];
    const auto scale = static_cast<float>(lora.scale());
    for (int64_t i = 0; i < y.elements(); ++i) {
      float product = 0;
      for (int64_t k = 0; k < rank; ++k)
        product += a.as<float>()[i / columns * rank + k] * b.as<float>()[k * columns + i % columns];
      y.as<float>()[i] += scale * product;
    }
    return y;
  }

  const Model &m_;
  WholeWeights made_;
};

}  // namespace

std::shared_ptr<Model> without_lora(const Model &m) { return Merging(m).run(); }

}  // namespace dl4::graph
