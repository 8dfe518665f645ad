// Keras's names of the operations that are one layer here, and ours.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "graph/keras_ops.hpp"

namespace dl4::graph {
namespace {

using Form = KerasOperation::Form;

// Where two stand for one kind, the first is written.
constexpr KerasOperation operations[] = {
    {"Absolute", "Absolute"},
    {"Negative", "Negative"},
    {"Sign", "Sign"},
    {"Square", "Square"},
    {"Sqrt", "Sqrt"},
    {"Rsqrt", "Rsqrt", Form::one, "keras.src.ops.math"},
    {"Reciprocal", "Reciprocal"},
    {"Exp", "Exp"},
    {"Log", "Log"},
    {"Log1p", "Log1p"},
    {"Log2", "Log2"},
    {"Log10", "Log10"},
    {"Expm1", "Expm1"},
    {"Sin", "Sin"},
    {"Cos", "Cos"},
    {"Tan", "Tan"},
    {"Erf", "Erf", Form::one, "keras.src.ops.math"},
    {"Floor", "Floor"},
    {"Ceil", "Ceil"},
    {"Round", "Round"},
    {"Tanh", "Tanh"},
    {"Isnan", "Isnan"},
    {"Isinf", "Isinf"},
    {"Isfinite", "Isfinite"},
    {"LogicalNot", "LogicalNot"},
    {"Sum", "Sum"},
    {"Mean", "Mean"},
    {"Max", "Max"},
    {"Amax", "Max"},
    {"Min", "Min"},
    {"Amin", "Min"},
    {"Prod", "Prod"},
    {"Var", "Var"},
    {"Std", "Std"},
    {"Any", "Any"},
    {"All", "All"},
    {"Argmax", "Argmax"},
    {"ExpandDims", "ExpandDims"},
    {"Squeeze", "Squeeze"},
    {"Flip", "Flip"},
    {"Repeat", "Repeat"},
    {"Clip", "Clip"},
    {"Matmul", "MatMul", Form::two},
    {"SegmentSum", "SegmentSum", Form::two, "keras.src.ops.math"},
    {"SegmentMax", "SegmentMax", Form::two, "keras.src.ops.math"},
    {"Add", "BroadcastAdd", Form::pair},
    {"Subtract", "BroadcastSubtract", Form::pair},
    {"Multiply", "BroadcastMultiply", Form::pair},
    {"Maximum", "BroadcastMaximum", Form::pair},
    {"Minimum", "BroadcastMinimum", Form::pair},
    {"Divide", "Divide", Form::pair},
    {"TrueDivide", "Divide", Form::pair},
    {"Power", "Power", Form::pair},
    {"Equal", "Equal", Form::pair},
    {"NotEqual", "NotEqual", Form::pair},
    {"Less", "Less", Form::pair},
    {"LessEqual", "LessEqual", Form::pair},
    {"Greater", "Greater", Form::pair},
    {"GreaterEqual", "GreaterEqual", Form::pair},
    {"LogicalAnd", "LogicalAnd", Form::pair},
    {"LogicalOr", "LogicalOr", Form::pair},
};

const KerasOperation *found(std::string_view KerasOperation::*key, std::string_view word) {
  const auto *it = std::find_if(std::begin(operations), std::end(operations),
                                [&](const KerasOperation &o) { return o.*key == word; });
  return it == std::end(operations) ? nullptr : it;
}

}  // namespace

const KerasOperation *keras_operation(std::string_view name) { return found(&KerasOperation::name, name); }
const KerasOperation *keras_operation_of(std::string_view kind) { return found(&KerasOperation::kind, kind); }

}  // namespace dl4::graph
