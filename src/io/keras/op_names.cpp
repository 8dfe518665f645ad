// Keras's names of the operations that are one layer here, and ours.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "io/keras/operations.hpp"

namespace dl4::io::keras {
namespace {

using Form = KerasOperation::Form;

// Where two stand for one kind, the first is written.
constexpr KerasOperation operations[] = {
    {"Absolute", "Absolute", Form::elementwise},
    {"Negative", "Negative", Form::elementwise},
    {"Sign", "Sign", Form::elementwise},
    {"Square", "Square", Form::elementwise},
    {"Sqrt", "Sqrt", Form::elementwise},
    {"Rsqrt", "Rsqrt", Form::elementwise, "keras.src.ops.math"},
    {"Reciprocal", "Reciprocal", Form::elementwise},
    {"Exp", "Exp", Form::elementwise},
    {"Log", "Log", Form::elementwise},
    {"Log1p", "Log1p", Form::elementwise},
    {"Log2", "Log2", Form::elementwise},
    {"Log10", "Log10", Form::elementwise},
    {"Expm1", "Expm1", Form::elementwise},
    {"Sin", "Sin", Form::elementwise},
    {"Cos", "Cos", Form::elementwise},
    {"Tan", "Tan", Form::elementwise},
    {"Arcsin", "Arcsin", Form::elementwise},
    {"Arccos", "Arccos", Form::elementwise},
    {"Arctan", "Arctan", Form::elementwise},
    {"Sinh", "Sinh", Form::elementwise},
    {"Cosh", "Cosh", Form::elementwise},
    {"Exp2", "Exp2", Form::elementwise},
    {"Trunc", "Trunc", Form::elementwise},
    {"Erf", "Erf", Form::elementwise, "keras.src.ops.math"},
    {"Floor", "Floor", Form::elementwise},
    {"Ceil", "Ceil", Form::elementwise},
    {"Round", "Round", Form::elementwise},
    {"Tanh", "Tanh", Form::elementwise},
    {"Isnan", "Isnan", Form::elementwise},
    {"Isinf", "Isinf", Form::elementwise},
    {"Isfinite", "Isfinite", Form::elementwise},
    {"LogicalNot", "LogicalNot", Form::elementwise},
    {"Sum", "Sum", Form::reduction},
    {"Mean", "Mean", Form::reduction},
    {"Max", "Max", Form::reduction},
    {"Amax", "Max", Form::reduction},
    {"Min", "Min", Form::reduction},
    {"Amin", "Min", Form::reduction},
    {"Prod", "Prod", Form::reduction},
    {"Var", "Var", Form::reduction},
    {"Std", "Std", Form::reduction},
    {"Logsumexp", "Logsumexp", Form::reduction, "keras.src.ops.math"},
    {"Any", "Any", Form::reduction},
    {"All", "All", Form::reduction},
    {"Argmax", "Argmax"},
    {"ExpandDims", "ExpandDims"},
    {"Squeeze", "Squeeze"},
    {"Flip", "Flip"},
    {"Repeat", "Repeat"},
    {"Tile", "Tile"},
    {"Sort", "Sort", Form::elementwise},
    {"Argsort", "Argsort", Form::elementwise},
    {"Cumsum", "Cumsum", Form::elementwise},
    {"Cumprod", "Cumprod", Form::elementwise},
    {"OneHot", "OneHot", Form::one, "keras.src.ops.nn"},
    {"Pad", "Pad"},
    {"Einsum", "Einsum"},
    {"Cast", "Cast", Form::one, "keras.src.ops.core"},
    {"Reshape", "ReshapeBatch"},
    {"TopK", "TopK", Form::elementwise, "keras.src.ops.math"},
    {"Clip", "Clip", Form::elementwise},
    {"Softmax", "Softmax", Form::elementwise, "keras.src.ops.nn"},
    {"StopGradient", "StopGradient", Form::one, "keras.src.ops.core"},
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
    {"Arctan2", "Arctan2", Form::pair},
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

}  // namespace dl4::io::keras
