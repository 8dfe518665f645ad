// Nodes that stand in no file: what a form of an op, or an op of another domain, is read as.
#pragma once

#include "io/onnx/reader.hpp"

namespace dl4::io::onnx {

using Values = std::vector<Value>;

// What a node of that op gives of these values.
Value computed(const Op &op, std::string_view kind, const Values &in, std::vector<Attribute> attributes);
// read: another reader than that op's.
Values computed(const Op &op, std::string_view kind, const Values &in, std::vector<Attribute> attributes, size_t out,
                Handler read = nullptr);
Attribute said(std::string_view name, int64_t i);
inline Attribute said(std::string_view name, int i) { return said(name, int64_t{i}); }
Attribute said(std::string_view name, Ints list);
Attribute said(std::string_view name, std::vector<double> list);
Attribute said(std::string_view name, double v);
Attribute said(std::string_view name, std::string_view word);  // a text that outlives it
// Constants: one number, and a list of int64.
Value number(int64_t v, Type type = Type::int64);
Value numbers(const Ints &list);

}  // namespace dl4::io::onnx
