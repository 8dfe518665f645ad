// Models out of files, and what they take and give.
#pragma once

#include <filesystem>

#include "command.hpp"
#include "print.hpp"

namespace dl4::tool {

// What --weights is, of a session.
inline constexpr const char *weights_help =
    "what weights are kept in where that is faster: float32, bfloat16, int8 or int4; default float32";

// An input or output.
struct Slot {
  std::string name;
  int32_t dtype = DL4_FLOAT32;
  Dims dims;  // -1 is free
};

std::vector<Slot> slots(const Model &m, int32_t direction);
Json json_of(const std::vector<Slot> &slots);
// A line for each input, then for each output.
std::string slot_lines(const Model &m);
const char *name_of_dtype(int32_t dtype);

// Of a shape, from axis `from` on.
int64_t elements(const Dims &dims, size_t from = 0);
Tensor zeros(int32_t dtype, const Dims &dims);

// A file of any format that the library reads, or an architecture in JSON, whose weights are new. weights: false reads
// the architecture alone.
Model open_model(const Common &common, const std::string &path, bool weights = true);
Json architecture(const Model &m);

// A weight with the layer that it is in.
struct Weight {
  std::string name, layer;
  Dims dims;
  bool trainable = false;
};
std::vector<Weight> weights(const Model &m, const Json &architecture);

// The bytes of a file of text; refuses more than 100 MB.
std::string read_text(const std::string &path);
void write_text(const std::string &path, const std::string &text);
// Before anything is computed: that a file can be made there.
void need_writable(const std::string &path);
std::filesystem::path native(const std::string &path);
bool exists(const std::string &path);
std::string folder_of(const std::string &path);
std::string name_of(const std::string &path);
bool ends_with(const std::string &path, const char *end);

// Of a shape, all axes known: the first free one is the batch, others have `other` elements.
Dims filled(const Dims &dims, int64_t batch, int64_t other);
// Inputs to try a model with: floats in [-1, 1), zeros for integers.
Tensors random_inputs(const Model &m, int64_t batch, int64_t other, int64_t seed);

}  // namespace dl4::tool
