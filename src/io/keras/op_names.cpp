// Keras's operations that are single layers here: the kinds list them; this file says how each is called.
#include <algorithm>
#include <string_view>
#include <vector>

#include "io/keras/operations.hpp"
#include "kinds/layers/elementwise/functions.hpp"

namespace dl4::io::keras {
namespace {

using Form = KerasOperation::Form;

// Kinds whose call differs from one tensor with attributes.
constexpr std::pair<std::string_view, Form> forms[] = {
    {"Sum", Form::reduction},      {"Mean", Form::reduction},      {"Max", Form::reduction},
    {"Min", Form::reduction},      {"Prod", Form::reduction},      {"Var", Form::reduction},
    {"Std", Form::reduction},      {"Logsumexp", Form::reduction}, {"Any", Form::reduction},
    {"All", Form::reduction},      {"Sort", Form::elementwise},    {"Argsort", Form::elementwise},
    {"Cumsum", Form::elementwise}, {"Cumprod", Form::elementwise}, {"TopK", Form::elementwise},
    {"Clip", Form::elementwise},   {"Softmax", Form::elementwise}, {"MatMul", Form::two},
    {"SegmentSum", Form::two},     {"SegmentMax", Form::two},
};

Form form_of(const kinds::Entry &e) {
  if (const kinds::Function *f = kinds::function(e.name)) return f->operands() == 2 ? Form::pair : Form::elementwise;
  const auto *it = std::ranges::find(forms, e.name.view(), &std::pair<std::string_view, Form>::first);
  return it == std::end(forms) ? Form::one : it->second;
}

const std::vector<KerasOperation> &operations() {
  static const std::vector<KerasOperation> all = [] {
    std::vector<KerasOperation> list;
    for (const kinds::Entry *e : kinds::entries("layer")) {
      const std::string keras = e->keras();
      const size_t dot = keras.find('.');
      if (keras.starts_with("keras.") || (dot == std::string::npos && !kinds::function(e->name))) continue;
      const bool only_read = dot == std::string::npos;  // of TensorFlow
      list.push_back({only_read ? std::string(e->name) : keras.substr(dot + 1), e, form_of(*e),
                      only_read ? "" : "keras.src.ops." + keras.substr(0, dot)});
    }
    return list;
  }();
  return all;
}

}  // namespace

const KerasOperation *keras_operation(std::string_view name) {
  for (const KerasOperation &o : operations())
    if (o.name == name) return &o;
  for (const KerasOperation &o : operations())
    if (o.kind->has_alias(name)) return &o;
  return nullptr;
}

const KerasOperation *keras_operation_of(std::string_view kind) {
  const auto it = std::ranges::find_if(
      operations(), [&](const KerasOperation &o) { return o.kind->name == kind && !o.module.empty(); });
  return it == operations().end() ? nullptr : &*it;
}

}  // namespace dl4::io::keras
