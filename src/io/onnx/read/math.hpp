// What readers of several groups of ONNX's ops write with.
#pragma once

#include <array>

#include "io/onnx/reader.hpp"

namespace dl4::io::onnx {

// The config of an Activation layer.
Json activation(const char *name, Json config = Json::object());
// x and a number, by a layer of two values.
Node by_number(const Op &op, const char *kind, Node x, double number);
// Two values that broadcast.
inline Node plus(const Op &op, Node a, Node b) { return op.layer("BroadcastAdd", Json::object(), {a, b}); }
inline Node minus(const Op &op, Node a, Node b) { return op.layer("BroadcastSubtract", Json::object(), {a, b}); }
inline Node times(const Op &op, Node a, Node b) { return op.layer("BroadcastMultiply", Json::object(), {a, b}); }

// Places before and after along each axis.
using Margins = std::vector<std::array<int64_t, 2>>;
Json margins_json(const Margins &margins);
// x with zeros added along the axes behind the first, up to the one before the last, or cut off where negative.
Node moved_ends(const Op &op, Node x, const Margins &margins);
// The same with a number for the zeros, adding only.
Node filled_ends(const Op &op, Node x, const Margins &margins, double number);

}  // namespace dl4::io::onnx
