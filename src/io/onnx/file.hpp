// What an ONNX file says: its nodes, and tensors where they lie.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.hpp"
#include "io/budget.hpp"

namespace dl4::io::onnx {

// Numbers of ONNX's types of data.
enum class Type : int64_t {
  none = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
  uint2 = 25,
  int2 = 26,
};
std::string to_string(Type t);
// What stands for it here: all floats are float32, small integers int32. Refuses with UNSUPPORTED.
DType stands_for(Type t);

// Its numbers are views of the file, or stand in another file.
struct Numbers {
  std::string_view name;
  Type type = Type::none;
  std::vector<int64_t> dims;
  std::string_view raw;
  std::vector<std::string_view> packed;  // lists of varints or of fixed sizes
  std::vector<uint64_t> single;          // numbers that stand one by one
  bool external = false;
  std::string location;
  int64_t offset = 0, length = -1;
};

struct File;

struct Attribute {
  std::string_view name;
  int64_t type = 0;  // 1 float, 2 int, 3 string, 4 tensor, 5 graph, 6 floats, 7 ints, 8 strings
  double f = 0;
  int64_t i = 0;
  std::string_view s;
  std::optional<Numbers> t;
  std::vector<double> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::shared_ptr<const File> graph;  // a body
};

struct NodeProto {
  std::string_view name, op, domain;
  std::vector<std::string_view> in, out;  // empty: left out
  std::vector<Attribute> attributes;

  const Attribute *find(std::string_view attribute) const;
};

struct Port {
  std::string_view name;
  bool is_tensor = false;
  Type type = Type::none;
  bool ranked = false;
  std::vector<std::optional<int64_t>> dims;  // none: free
  std::vector<std::string_view> symbols;     // the names of free ones, or ""
};

constexpr int64_t oldest_opset = 1, newest_opset = 28;

struct File {
  int64_t ir_version = 0, opset = 0;
  std::vector<std::pair<std::string_view, int64_t>> other_opsets;
  std::vector<NodeProto> nodes;
  std::vector<Numbers> initializers;
  std::vector<Port> inputs, outputs;
};

// The file that the bytes are, which it refers to. Refuses with CORRUPT_FILE, and with UNSUPPORTED functions and sparse
// tensors.
File parse(std::string_view bytes, Budget &budget);

// Where tensors outside of the file may be read, and what a load may take.
struct Outside {
  std::string folder;  // "": nowhere
  Budget &budget;
  std::set<std::string> files{};  // that were opened
};
Tensor read(const Numbers &t, Outside &outside);

}  // namespace dl4::io::onnx
