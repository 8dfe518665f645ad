#include "io/onnx/file.hpp"

#include <algorithm>
#include <charconv>

namespace dl4::io::onnx {
namespace {

[[noreturn]] void ends(const char *what) { fail(Code::corrupt_file, what, " ends in the middle of a field"); }

}  // namespace

uint64_t take_varint(std::string_view &bytes, const char *what) {
  uint64_t v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) ends(what);
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    v |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return v;
  }
  fail(Code::corrupt_file, what, " has a number of more than 64 bits");
}

uint64_t take_fixed(std::string_view &bytes, size_t size, const char *what) {
  if (bytes.size() < size) ends(what);
  uint64_t v = 0;
  for (size_t i = size; i-- > 0;) v = v << 8 | static_cast<unsigned char>(bytes[i]);
  bytes.remove_prefix(size);
  return v;
}

bool Message::next(Field &field) {
  if (bytes_.empty()) return false;
  const uint64_t tag = take_varint(bytes_, what_);
  field = {static_cast<int64_t>(tag >> 3), static_cast<Field::Type>(tag & 7), 0, {}};
  if (field.number == 0 || field.number >= int64_t{1} << 29) fail(Code::corrupt_file, what_, " has a field ", tag >> 3);
  if (field.type == Field::Type::varint) {
    field.value = take_varint(bytes_, what_);
  } else if (field.type == Field::Type::fixed64 || field.type == Field::Type::fixed32) {
    field.value = take_fixed(bytes_, field.type == Field::Type::fixed64 ? 8 : 4, what_);
  } else if (field.type == Field::Type::bytes) {
    const uint64_t size = take_varint(bytes_, what_);
    if (size > bytes_.size()) ends(what_);
    field.bytes = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
  } else {
    fail(Code::corrupt_file, what_, " has a field of type ", tag & 7);
  }
  return true;
}

void MessageWriter::raw(uint64_t value) {
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  bytes += static_cast<char>(value);
}

void MessageWriter::varint(int64_t number, int64_t value) {
  raw(static_cast<uint64_t>(number) << 3);
  raw(static_cast<uint64_t>(value));
}

void MessageWriter::real(int64_t number, float value) {
  raw(static_cast<uint64_t>(number) << 3 | 5);
  const auto bits = std::bit_cast<uint32_t>(value);
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(bits >> (8 * i) & 255);
}

void MessageWriter::text(int64_t number, std::string_view value) {
  raw(static_cast<uint64_t>(number) << 3 | 2);
  raw(value.size());
  bytes += value;
}

namespace {

constexpr int deepest = 64;  // nesting depth that only generated files exceed

class Room {
 public:
  explicit Room(Budget &budget) : budget_(budget) {}
  void take(size_t bytes) { budget_.take(static_cast<int64_t>(bytes), "another field"); }
  template <class T>
  T &add(std::vector<T> &list) {
    take(2 * sizeof(T));  // vectors double their capacity
    return list.emplace_back();
  }
  template <class T>
  void add(std::vector<T> &list, T v) {
    add(list) = v;
  }
  int depth = 0;  // of bodies

 private:
  Budget &budget_;
};

int64_t number_of(std::string_view s, const char *what) {
  int64_t n = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n);
  if (error != std::errc() || end != s.data() + s.size() || n < 0)
    fail(Code::corrupt_file, "an external tensor's \"", what, "\" is \"", std::string(s.substr(0, 40)), '"');
  return n;
}

void read_external(std::string_view bytes, Numbers &t) {
  Message m(bytes, "an entry of a tensor");
  std::string_view key, value;
  for (Field f; m.next(f);) (f.number == 1 ? key : value) = f.bytes;
  if (key == "location") t.location = value;
  if (key == "offset") t.offset = number_of(value, "offset");
  if (key == "length") t.length = number_of(value, "length");
}

Numbers numbers(std::string_view bytes, Room &room) {
  constexpr const char *what = "a tensor";
  Numbers t;
  Message m(bytes, what);
  for (Field f; m.next(f);) {
    const int64_t n = f.number;
    if (n == 1) each_varint(f, what, [&](uint64_t v) { room.add(t.dims, static_cast<int64_t>(v)); });
    if (n == 2) t.type = static_cast<Type>(f.integer());
    if (n == 3) fail(Code::unsupported, "a tensor in segments");
    // Floats, integers of up to 32 bits, int64, doubles, unsigned ones.
    const bool listed = n == 4 || n == 5 || n == 7 || n == 10 || n == 11;
    if (n == 6 || (listed && f.type == Field::Type::bytes))
      room.add(t.packed, f.bytes);  // strings too
    else if (listed)
      room.add(t.single, f.value);
    if (n == 8) t.name = f.bytes;
    if (n == 9) t.raw = f.bytes;
    if (n == 13) read_external(f.bytes, t);
    if (n == 14) t.external = f.value == 1;
  }
  return t;
}

void read_graph(std::string_view bytes, File &file, Room &room);

std::shared_ptr<const File> body(std::string_view bytes, Room &room) {
  if (room.depth == deepest) fail(Code::unsupported, "bodies lie in bodies more than ", deepest, " deep");
  room.take(sizeof(File));
  const auto file = std::make_shared<File>();
  ++room.depth;
  read_graph(bytes, *file, room);
  --room.depth;
  return file;
}

Attribute attribute(std::string_view bytes, Room &room) {
  constexpr const char *what = "an attribute";
  Attribute a;
  bool graph = false, other = false;
  Message m(bytes, what);
  for (Field f; m.next(f);) {
    const int64_t n = f.number;
    if (n == 1) a.name = f.bytes;
    if (n == 2) a.f = f.real();
    if (n == 3) a.i = f.integer();
    if (n == 4) a.s = f.bytes;
    if (n == 5) a.t = numbers(f.bytes, room);
    if (n == 6) a.graph = body(f.bytes, room), graph = true;
    if (n == 7)
      each_fixed(f, 4, what, [&](uint64_t v) {
        room.add(a.floats, static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(v))));
      });
    if (n == 8) each_varint(f, what, [&](uint64_t v) { room.add(a.ints, static_cast<int64_t>(v)); });
    if (n == 9) room.add(a.strings, f.bytes);
    if (n == 20) a.type = f.integer();
    other |= n == 10 || n == 11 || n == 14 || n == 21 || n == 22;
  }
  if (a.type < 1 || a.type > 8 || graph || other) a.type = graph ? 5 : other ? -1 : 0;
  return a;
}

NodeProto node(std::string_view bytes, Room &room) {
  NodeProto n;
  Message m(bytes, "a node");
  for (Field f; m.next(f);) {
    if (f.number == 1) room.add(n.in, f.bytes);
    if (f.number == 2) room.add(n.out, f.bytes);
    if (f.number == 3) n.name = f.bytes;
    if (f.number == 4) n.op = f.bytes;
    if (f.number == 5) room.add(n.attributes) = attribute(f.bytes, room);
    if (f.number == 7) n.domain = f.bytes;
  }
  return n;
}

void dims_of(std::string_view bytes, Port &p, Room &room) {
  p.ranked = true;
  Message shape(bytes, "a shape");
  for (Field f; shape.next(f);) {
    if (f.number != 1) continue;
    std::optional<int64_t> &dim = room.add(p.dims);
    std::string_view &symbol = room.add(p.symbols);
    Message m(f.bytes, "a dim");
    for (Field d; m.next(d);) {
      if (d.number == 1 && d.integer() >= 0) dim = d.integer();
      if (d.number == 2) symbol = d.bytes;
    }
  }
}

Port port(std::string_view bytes, Room &room) {
  Port p;
  Message m(bytes, "an input or output");
  for (Field f; m.next(f);) {
    if (f.number == 1) p.name = f.bytes;
    if (f.number != 2) continue;
    Message type(f.bytes, "a type");
    for (Field t; type.next(t);) {
      if (t.number != 1) continue;
      p.is_tensor = true;
      Message tensor(t.bytes, "a tensor's type");
      for (Field d; tensor.next(d);) {
        if (d.number == 1) p.type = static_cast<Type>(d.integer());
        if (d.number == 2) dims_of(d.bytes, p, room);
      }
    }
  }
  return p;
}

void read_graph(std::string_view bytes, File &file, Room &room) {
  Message m(bytes, "the graph");
  for (Field f; m.next(f);) {
    if (f.number == 1) room.add(file.nodes) = node(f.bytes, room);
    if (f.number == 5) room.add(file.initializers) = numbers(f.bytes, room);
    if (f.number == 11) room.add(file.inputs) = port(f.bytes, room);
    if (f.number == 12) room.add(file.outputs) = port(f.bytes, room);
    if (f.number == 15) fail(Code::unsupported, "a sparse tensor among the initializers; store it as a dense one");
  }
}

// Whether the opset is of ONNX's own domain.
bool read_opset(std::string_view bytes, File &file, Room &room) {
  std::string_view domain;
  int64_t version = 0;
  Message m(bytes, "an opset");
  for (Field f; m.next(f);) {
    if (f.number == 1) domain = f.bytes;
    if (f.number == 2) version = f.integer();
  }
  const bool own = domain.empty() || domain == "ai.onnx";
  if (own)
    file.opset = version;
  else
    room.add(file.other_opsets, {domain, version});
  return own;
}

}  // namespace

const Attribute *NodeProto::find(std::string_view attribute) const {
  const auto it =
      std::find_if(attributes.begin(), attributes.end(), [&](const Attribute &a) { return a.name == attribute; });
  return it == attributes.end() ? nullptr : &*it;
}

File parse(std::string_view bytes, Budget &budget) {
  Room room(budget);
  File file;
  bool graph = false, has_opset = false;
  Message m(bytes, "the model");
  for (Field f; m.next(f);) {
    if (f.number == 7) {
      if (graph) fail(Code::corrupt_file, "the model has two graphs");
      graph = true;
      read_graph(f.bytes, file, room);
    }
    if (f.number == 8) has_opset |= read_opset(f.bytes, file, room);
    if (f.number == 25)
      fail(Code::unsupported,
           "the model has functions of its own; export it with these inlined (onnx.inliner.inline_local_functions)");
  }
  if (!graph) fail(Code::corrupt_file, "the model has no graph");
  if (!has_opset && !file.other_opsets.empty()) file.opset = newest_opset;  // none of ONNX's own ops need be there
  return file;
}

}  // namespace dl4::io::onnx
