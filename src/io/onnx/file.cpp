#include "io/onnx/file.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "io/onnx/protobuf.hpp"

namespace dl4::io::onnx {
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
  for (Field f; m.next(f);) switch (f.number) {
      case 1:
        each_varint(f, what, [&](uint64_t v) { room.add(t.dims, static_cast<int64_t>(v)); });
        break;
      case 2:
        t.type = static_cast<Type>(f.integer());
        break;
      case 4:   // floats
      case 5:   // integers of up to 32 bits
      case 7:   // int64
      case 10:  // doubles
      case 11:  // uint32 and uint64
        if (f.type == Field::Type::bytes)
          room.add(t.packed, f.bytes);
        else
          room.add(t.single, f.value);
        break;
      case 6:
        room.add(t.packed, f.bytes);  // strings
        break;
      case 3:
        fail(Code::unsupported, "a tensor in segments");
      case 8:
        t.name = f.bytes;
        break;
      case 9:
        t.raw = f.bytes;
        break;
      case 13:
        read_external(f.bytes, t);
        break;
      case 14:
        t.external = f.value == 1;
        break;
      default:
        break;
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
  for (Field f; m.next(f);) switch (f.number) {
      case 1:
        a.name = f.bytes;
        break;
      case 2:
        a.f = f.real();
        break;
      case 3:
        a.i = f.integer();
        break;
      case 4:
        a.s = f.bytes;
        break;
      case 5:
        a.t = numbers(f.bytes, room);
        break;
      case 6:
        graph = true;
        a.graph = body(f.bytes, room);
        break;
      case 7:
        each_fixed(f, 4, what, [&](uint64_t v) {
          room.add(a.floats, static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(v))));
        });
        break;
      case 8:
        each_varint(f, what, [&](uint64_t v) { room.add(a.ints, static_cast<int64_t>(v)); });
        break;
      case 9:
        room.add(a.strings, f.bytes);
        break;
      case 20:
        a.type = f.integer();
        break;
      case 10:
      case 11:
      case 14:
      case 21:
      case 22:
        other = true;
        break;
      default:
        break;
    }
  if (a.type < 1 || a.type > 8 || graph || other) a.type = graph ? 5 : other ? -1 : 0;
  return a;
}

NodeProto node(std::string_view bytes, Room &room) {
  NodeProto n;
  Message m(bytes, "a node");
  for (Field f; m.next(f);) switch (f.number) {
      case 1:
        room.add(n.in, f.bytes);
        break;
      case 2:
        room.add(n.out, f.bytes);
        break;
      case 3:
        n.name = f.bytes;
        break;
      case 4:
        n.op = f.bytes;
        break;
      case 5:
        room.add(n.attributes) = attribute(f.bytes, room);
        break;
      case 7:
        n.domain = f.bytes;
        break;
      default:
        break;
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
  for (Field f; m.next(f);) switch (f.number) {
      case 1:
        room.add(file.nodes) = node(f.bytes, room);
        break;
      case 5:
        room.add(file.initializers) = numbers(f.bytes, room);
        break;
      case 11:
        room.add(file.inputs) = port(f.bytes, room);
        break;
      case 12:
        room.add(file.outputs) = port(f.bytes, room);
        break;
      case 15:
        fail(Code::unsupported, "a sparse tensor among the initializers; store it as a dense one");
      default:
        break;
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
  for (Field f; m.next(f);) switch (f.number) {
      case 1:
        file.ir_version = f.integer();
        break;
      case 7:
        if (graph) fail(Code::corrupt_file, "the model has two graphs");
        graph = true;
        read_graph(f.bytes, file, room);
        break;
      case 8:
        has_opset |= read_opset(f.bytes, file, room);
        break;
      case 25:
        fail(Code::unsupported,
             "the model has functions of its own; export it with these inlined (onnx.inliner.inline_local_functions)");
      default:
        break;
    }
  if (!graph) fail(Code::corrupt_file, "the model has no graph");
  if (!has_opset && !file.other_opsets.empty()) file.opset = newest_opset;  // none of ONNX's own ops need be there
  return file;
}

}  // namespace dl4::io::onnx
