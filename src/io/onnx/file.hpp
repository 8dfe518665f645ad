// Protocol Buffers' wire format: consecutive fields as views of existing bytes.
// The parsed content of an ONNX file: nodes, and tensors in place.
#pragma once

#include <bit>
#include <map>
#include <optional>
#include <set>

#include "base/tensor.hpp"
#include "io/budget.hpp"

namespace dl4::io::onnx {

struct Field {
  enum class Type { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
  int64_t number = 0;
  Type type = Type::varint;
  uint64_t value = 0;      // bits of a number
  std::string_view bytes;  // of a message, a string or a packed list

  int64_t integer() const { return static_cast<int64_t>(value); }
  float real() const { return std::bit_cast<float>(static_cast<uint32_t>(value)); }
};

// Iterates over a message's fields. Refuses truncation and groups with CORRUPT_FILE, naming the message.
class Message {
 public:
  Message(std::string_view bytes, const char *what) : bytes_(bytes), what_(what) {}

  bool next(Field &field);

 private:
  std::string_view bytes_;
  const char *what_;
};

// Removes a varint from the front of packed bytes.
uint64_t take_varint(std::string_view &bytes, const char *what);
uint64_t take_fixed(std::string_view &bytes, size_t size, const char *what);

// Calls f(bits) for the numbers of a field, packed or not.
template <class F>
void each_varint(const Field &field, const char *what, F f) {
  if (field.type == Field::Type::varint) return f(field.value);
  for (std::string_view left = field.bytes; !left.empty();) f(take_varint(left, what));
}
template <class F>
void each_fixed(const Field &field, size_t size, const char *what, F f) {
  if (field.type != Field::Type::bytes) return f(field.value);
  for (std::string_view left = field.bytes; !left.empty();) f(take_fixed(left, size, what));
}

// Writes a message's fields.
class MessageWriter {
 public:
  std::string bytes;

  void varint(int64_t number, int64_t value);
  void real(int64_t number, float value);
  void text(int64_t number, std::string_view value);
  void message(int64_t number, const MessageWriter &value) { text(number, value.bytes); }

 private:
  void raw(uint64_t value);
};

// ONNX's data types.
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
// The dtype that represents it: float32 for all floats, int32 for small integers. Refuses others with UNSUPPORTED.
DType stands_for(Type t);

// A tensor, whose numbers are views of the file or in another file.
struct Numbers {
  std::string_view name;
  Type type = Type::none;
  std::vector<int64_t> dims;
  std::string_view raw;
  std::vector<std::string_view> packed;  // lists of varints or of fixed-size numbers
  std::vector<uint64_t> single;          // unpacked numbers
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
  std::vector<std::string_view> in, out;  // empty: omitted
  std::vector<Attribute> attributes;

  const Attribute *find(std::string_view attribute) const;
};

struct Port {
  std::string_view name;
  bool is_tensor = false;
  Type type = Type::none;
  bool ranked = false;
  std::vector<std::optional<int64_t>> dims;  // none: free
  std::vector<std::string_view> symbols;     // names of free dims, or ""
};

constexpr int64_t oldest_opset = 1, newest_opset = 28;

struct File {
  int64_t opset = 0;
  std::vector<std::pair<std::string_view, int64_t>> other_opsets;
  std::vector<NodeProto> nodes;
  std::vector<Numbers> initializers;
  std::vector<Port> inputs, outputs;
};

// Parses the bytes, to which the result refers. Refuses with CORRUPT_FILE invalid files, and with UNSUPPORTED functions
// and sparse tensors.
File parse(std::string_view bytes, Budget &budget);

// Directory of external tensors, and the load's budget.
struct Outside {
  std::string folder;  // "": none
  Budget &budget;
  std::set<std::string> files{};  // opened so far
};
Tensor read(const Numbers &t, Outside &outside);

}  // namespace dl4::io::onnx
