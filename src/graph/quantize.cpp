#include "graph/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "graph/whole_numbers.hpp"

namespace dl4::graph {
namespace {

using kinds::Quantization;

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

class Rewriting {
 public:
  Rewriting(const Model &m, const Quantize &how, const Quantization &q, const Json &as_json)
      : m_(m), how_(how), quantizer_(q, range_of(q, how)), json_(as_json) {
    if (how.layers) wanted_.insert(how.layers->begin(), how.layers->end());
  }

  std::shared_ptr<Model> run() {
    Architecture a = m_.architecture();
    rewrite(a, "");
    for (const std::string &name : wanted_)
      if (!found_.count(name))
        throw Error(Code::not_found, text("the model has no layer \"", name, '"'))
            .with("layer", name)
            .suggest(name, names_);
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

 private:
  void rewrite(Architecture &a, const std::string &prefix) {
    for (Architecture::Layer &l : a.layers) {
      if (l.role != Architecture::Role::kind) continue;
      names_.push_back(l.name);
      const std::string below = prefix + l.name + '/';
      if (l.class_name == "Functional" && l.config.contains("model")) {
        Architecture inner = read_architecture(l.config["model"]);
        rewrite(inner, below);
        l.config["model"] = to_json(inner);
        if (wanted_.count(l.name)) refuse(l.name, "a model inside is quantized by the names of its layers");
        continue;
      }
      const bool asked = wanted_.count(l.name) != 0;
      if (asked) found_.insert(l.name);
      if (how_.layers && !asked) continue;
      const Json *now = l.config.find("quantization");
      if (!now) {
        if (asked) refuse(l.name, text("a ", l.class_name, " cannot be quantized"));
        continue;
      }
      if (!now->is_null()) refuse(l.name, text("it is quantized already, by ", now->at("mode").dump()));
      l.config["quantization"] = json_;
      as_layer(l.name, [&] { make(l, below); });
    }
  }

  void make(const Architecture::Layer &l, const std::string &below) {
    const auto value = [&](const std::string &name) { return m_.weight(below + name)->value(); };
    WholeWeights made;
    if (has(below + "embeddings")) {
      quantizer_.table(value("embeddings"), made);
      if (has(below + "reverse_embeddings")) quantizer_.back(value("reverse_embeddings"), made);
      add(below, made);
    } else if (has(below + "kernel")) {
      const Json *equation = l.config.find("equation");
      quantizer_.kernel(value("kernel"), equation ? axes_of(equation->get<std::string>()) : first_axes(1, 2), made);
      add(below, made);
    }
    for (const char *part : {"query", "key", "value", "gate", "attention_output"}) {
      const std::string inside = text(part, '/');
      if (!has(below + inside + "kernel")) continue;
      const Tensor t = value(inside + "kernel");
      quantizer_.kernel(t, first_axes(part == std::string_view("attention_output") ? 2 : 1, t.shape.rank()), made);
      add(below + inside, made);
    }
  }
  bool has(const std::string &name) const {
    const auto &all = m_.weights();
    return std::any_of(all.begin(), all.end(), [&](const auto &w) { return w->name == name; });
  }
  void add(const std::string &below, WholeWeights &made) {
    for (auto &[name, t] : made) made_[below + name] = std::move(t);
    made.clear();
  }

  const Model &m_;
  const Quantize &how_;
  const WholeNumbers quantizer_;
  const Json json_;
  std::set<std::string> wanted_, found_;
  std::vector<std::string> names_;
  WholeWeights made_;
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
  return Rewriting(m, how, *q, kinds::conversion<kinds::Quantized>().write(&q)).run();
}

}  // namespace dl4::graph
