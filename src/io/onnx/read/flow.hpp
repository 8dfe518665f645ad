// Shared by readers of control flow and of sequences.
#pragma once

#include "io/onnx/read/nodes.hpp"

namespace dl4::io::onnx {

// An attribute that is a body.
const File &body_of(const Op &op, std::string_view name);
// The values of a body's outputs, with its layers in the enclosing graph. `in`: its first inputs.
Values inlined(const Op &op, const File &body, const Values &in);
// Stacks values of equal shape along a new first axis; without values, in that port's shape.
Value stacked(const Op &op, const Values &values, const Port &port);
Value sequence(const Op &op, Values values);

}  // namespace dl4::io::onnx
