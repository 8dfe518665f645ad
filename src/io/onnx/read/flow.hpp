// What readers of control flow and of sequences share.
#pragma once

#include "io/onnx/reader.hpp"

namespace dl4::io::onnx {

using Values = std::vector<Value>;

// An attribute that is a body.
const File &body_of(const Op &op, std::string_view name);
// The values of a body's outputs, its layers in the graph around it. `in`: its first inputs.
Values inlined(const Op &op, const File &body, const Values &in);
// What a node of that op gives of these values.
Value computed(const Op &op, std::string_view kind, const Values &in, std::vector<Attribute> attributes);
// read: another reader than that op's.
Values computed(const Op &op, std::string_view kind, const Values &in, std::vector<Attribute> attributes, size_t out,
                Handler read = nullptr);
Attribute said(std::string_view name, int64_t i);
inline Attribute said(std::string_view name, int i) { return said(name, int64_t{i}); }
Attribute said(std::string_view name, Ints list);
Attribute said(std::string_view name, double v);
Attribute said(std::string_view name, std::string_view word);  // a text that outlives it
// Values of one shape along a new first axis; none of them: of that port's shape.
Value stacked(const Op &op, const Values &values, const Port &port);
Value number(int64_t v, Type type = Type::int64);
Value sequence(const Op &op, Values values);

}  // namespace dl4::io::onnx
