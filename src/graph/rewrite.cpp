#include "graph/rewrite.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "graph/whole_numbers.hpp"
#include "kinds/layers/core/lora.hpp"

namespace dl4::graph {
namespace {

using kinds::Lora, kinds::Quantization;

[[noreturn]] void refuse(const std::string &layer, const std::string &why) {
  throw Error(Code::unsupported, text("layer \"", layer, "\": ", why)).with("layer", layer);
}

WholeNumbers::Range range_of(const Quantization &q, const Quantize &how) {
  WholeNumbers::Range range = WholeNumbers::default_range(q);
  range.epsilon = static_cast<float>(how.epsilon);
  if (!how.value_range) return range;
  const auto &given = *how.value_range;
  const double limit = q.mode == Quantization::Mode::int8 ? 127 : 7;
  const auto is_whole = [](double v) { return v == std::round(v); };
  if (given.size() != 2 || !is_whole(given[0]) || !is_whole(given[1]) || given[0] < -limit - 1 || given[0] > 0 ||
      given[1] < 1 || given[1] > limit)
    kinds::refuse_attribute("value_range", "expected two whole numbers from ", -limit - 1, " to ", limit,
                            " around 0, got ", Json(given).dump());
  range.least = static_cast<float>(given[0]), range.most = static_cast<float>(given[1]);
  return range;
}

// Of the kernel of a layer, or of the projection `part` of one with several.
KernelAxes axes_for(const Json &config, std::string_view part, int rank) {
  if (const Json *equation = config.find("equation")) return axes_of(equation->get<std::string>());
  return first_axes(part == "attention_output" ? 2 : 1, rank);
}

class Rewriting {
 public:
  explicit Rewriting(const Model &m) : m_(m) {}

 protected:
  using Layer = Architecture::Layer;

  // Calls f(layer, its prefix, whether it is a model) for all layers, the ones inside models first.
  template <class F>
  void walk(Architecture &a, const std::string &prefix, F f) {
    for (Layer &l : a.layers) {
      if (l.role != Architecture::Role::kind) continue;
      const std::string below = prefix + l.name + '/';
      const bool model = l.class_name == "Functional" && l.config.contains("model");
      if (model) {
        Architecture inner = read_architecture(l.config["model"]);
        walk(inner, below, f);
        l.config["model"] = to_json(inner);
      }
      f(l, below, model);
    }
  }
  bool has(const std::string &name) const {
    return std::ranges::any_of(m_.weights(), [&](const auto &w) { return w->name == name; });
  }
  void add(const std::string &below, WholeWeights made) {
    for (auto &[name, t] : made) made_[below + name] = std::move(t);
  }
  // The model of that architecture, with what was made in place of its own weights.
  std::shared_ptr<Model> remade(const Architecture &a) const {
    return model_of(a, m_.graph().settings(), [&](const Weight &w) {
      const auto made = made_.find(w.name);
      if (made == made_.end()) {
        const Weight &same = *m_.weight(w.name);
        return same.block() ? clone(same.value()) : same.value();  // a copy, so that one of them may be trained
      }
      if (made->second.shape.elements() != w.spec.shape.elements())
        fail(Code::internal, "weight \"", w.name, "\": made as ", made->second.shape, ", expected ", w.spec.shape);
      return Tensor{made->second.dtype, w.spec.shape, made->second.data};
    });
  }

  const Model &m_;
  WholeWeights made_{};
};

class Quantizing : Rewriting {
 public:
  Quantizing(const Model &m, const Quantize &how, const Quantization &q, const Json &as_json)
      : Rewriting(m), how_(how), quantizer_(q, range_of(q, how)), json_(as_json) {
    if (how.layers) wanted_.insert(how.layers->begin(), how.layers->end());
  }

  std::shared_ptr<Model> run() {
    Architecture a = m_.architecture();
    walk(a, "", [&](Layer &l, const std::string &below, bool model) { rewrite(l, below, model); });
    for (const std::string &name : wanted_)
      if (!found_.count(name))
        throw Error(Code::not_found, text("the model has no layer \"", name, '"'))
            .with("layer", name)
            .suggest(name, names_);
    return remade(a);
  }

 private:
  void rewrite(Layer &l, const std::string &below, bool model) {
    names_.push_back(l.name);
    const bool asked = wanted_.count(l.name) != 0;
    if (model) {
      if (asked) refuse(l.name, "a model inside is quantized by the names of its layers");
      return;
    }
    if (asked) found_.insert(l.name);
    if (how_.layers && !asked) return;
    const Json *now = l.config.find("quantization");
    if (!now) {
      if (asked) refuse(l.name, text("a ", l.class_name, " cannot be quantized"));
      return;
    }
    if (!now->is_null()) refuse(l.name, text("it is quantized already, by ", now->at("mode").dump()));
    l.config["quantization"] = json_;
    as_layer(l.name, [&] { make(l, below); });
  }

  void make(const Layer &l, const std::string &below) {
    const auto value = [&](const std::string &name) { return m_.weight(below + name)->value(); };
    const auto kernel = [&](const std::string &inside, std::string_view part) {
      if (!has(below + inside + "kernel")) return;
      const Tensor t = value(inside + "kernel");
      WholeWeights made;
      quantizer_.kernel(t, axes_for(l.config, part, t.shape.rank()), made);
      add(below + inside, std::move(made));
    };
    if (has(below + "embeddings")) {
      WholeWeights made;
      quantizer_.table(value("embeddings"), made);
      if (has(below + "reverse_embeddings")) quantizer_.back(value("reverse_embeddings"), made);
      add(below, std::move(made));
    } else {
      kernel("", "");
    }
    for (const char *part : {"query", "key", "value", "gate", "attention_output"}) kernel(text(part, '/'), part);
  }

  const Quantize &how_;
  const WholeNumbers quantizer_;
  const Json json_;
  std::set<std::string> wanted_, found_;
  std::vector<std::string> names_;
};

// Adds products of LoRA to kernels and tables.
class Merging : Rewriting {
 public:
  using Rewriting::Rewriting;

  std::shared_ptr<Model> run() {
    Architecture a = m_.architecture();
    walk(a, "", [&](Layer &l, const std::string &below, bool model) {
      std::erase_if(l.frozen, [&](const std::string &name) {
        const auto w = m_.weight(below + name);
        return w && w->spec.lora;
      });
      if (!model) layer(l.config, below);
    });
    return remade(a);
  }

 private:
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
    const bool table = has(below + "lora_embeddings_a");
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
      const KernelAxes axes = axes_for(config, of, shape.rank());
      numbers.kernel(sum(numbers.kernel_floats(shape, axes, weight), a, b, lora), axes, made);
    }
    add(below, std::move(made));
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
};

}  // namespace

std::shared_ptr<Model> quantized(const Model &m, const Quantize &how) {
  // A layer's "int4" means that of files before Keras 3.15; quantize("int4") has a default block.
  Json mode = how.mode;
  Json &word = mode.is_object() && mode.contains("mode") ? mode["mode"] : mode;
  if (word == Json("int4")) word = "int4/128";
  const auto q = kinds::from_json<kinds::Quantized>(mode);
  if (!q) kinds::refuse_attribute("mode", "expected a mode, got null");
  if (q->turned())
    throw Error(Code::unsupported, text(q->name(), " needs data to calibrate by; expected \"int8\" or \"int4/block\""))
        .with("attribute", "mode");
  return Quantizing(m, how, *q, kinds::conversion<kinds::Quantized>().write(&q)).run();
}

std::shared_ptr<Model> without_lora(const Model &m) { return Merging(m).run(); }

}  // namespace dl4::graph
