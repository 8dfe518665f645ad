// Writes HDF5 in its simplest form: old superblock and headers, compact groups, contiguous data.

#include "io/hdf5/objects.hpp"

namespace dl4::io {

using namespace hdf5;

namespace {

constexpr size_t superblock_bytes = 96;
constexpr int64_t align = 8;

std::string message(Message type, const std::string &data) {
  std::string m;
  put(m, {{static_cast<uint64_t>(type), 2}, {(data.size() + 7) / 8 * 8, 2}, {0, 4}});
  m += data;
  m.append((8 - data.size() % 8) % 8, '\0');
  return m;
}

std::string header(const std::vector<std::string> &messages) {
  std::string h;
  size_t size = 0;
  for (const std::string &m : messages) size += m.size();
  put(h, {{1, 2}, {messages.size(), 2}, {1, 4}, {size, 4}, {0, 4}});  // the third: references
  for (const std::string &m : messages) h += m;
  return h;
}

// float32, int32, int64, int8 or uint8.
std::string type_of(DType dtype, bool natural) {
  std::string t;
  const auto size = static_cast<uint64_t>(size_of(dtype));
  const uint64_t sign = natural ? 0 : 8;
  if (dtype != DType::f32)
    put(t, {{0x10, 1}, {sign, 3}, {size, 4}, {0, 2}, {8 * size, 2}});
  else  // sign position, and an implied leading 1; position and bits of exponent and fraction
    put(t, {{0x11, 1}, {31 << 8 | 0x20, 3}, {size, 4}, {0, 2}, {32, 2}, {23, 1}, {8, 1}, {0, 1}, {23, 1}, {127, 4}});
  return t;
}

std::string dataset(const Tensor &t, bool natural, uint64_t at) {
  std::string dims, layout, fill;
  put(dims, {{1, 1}, {static_cast<uint64_t>(t.shape.rank()), 1}, {0, 6}});
  for (int64_t d : t.shape.dims()) put(dims, {{static_cast<uint64_t>(d), 8}});
  put(layout, {{3, 1}, {1, 1}, {t.bytes() > 0 ? at : nowhere, 8}, {static_cast<uint64_t>(t.bytes()), 8}});
  put(fill, {{2, 1}, {2, 1}, {0, 2}});  // no fill value
  constexpr auto fill_value = static_cast<Message>(5);
  return header({message(dataspace, dims), message(datatype, type_of(t.dtype, natural)), message(fill_value, fill),
                 message(Message::layout, layout)});
}

struct Node {
  std::map<std::string, Node> members;
  const Tensor *data = nullptr;
  bool natural = false;
  uint64_t at = 0;  // of its header

  // A group with its members as links in the header.
  std::string group() const {
    std::string info;
    put(info, {{0, 2}, {nowhere, 8}, {nowhere, 8}});
    std::vector<std::string> messages{message(link_info, info)};
    for (const auto &[name, node] : members) {
      std::string l;
      put(l, {{1, 1}, {1, 1}, {name.size(), 2}});  // the second: the name's length takes two bytes
      l += name;
      put(l, {{node.at, 8}});
      messages.push_back(message(link, l));
    }
    if (messages.size() > 0xFFFF) fail(Code::unsupported, "HDF5: a group of ", members.size(), " members");
    return header(messages);
  }
  // Assigns an address to each object; the headers are consecutive.
  uint64_t place(uint64_t next) {
    at = next;
    next += data ? dataset(*data, natural, 0).size() : group().size();
    for (auto &[name, node] : members) next = node.place(next);
    return next;
  }
  template <class F>
  void each(F f) {
    f(*this);
    for (auto &[name, node] : members) node.each(f);
  }
};

}  // namespace

std::vector<std::string_view> hdf5_parts(const std::map<std::string, Tensor> &datasets,
                                         const std::set<std::string> &natural, std::string &head) {
  Node root;
  for (const auto &[path, tensor] : datasets) {
    Node *node = &root;
    for (size_t begin = 0; begin <= path.size();) {
      const size_t end = std::min(path.find('/', begin), path.size());
      node = &node->members[path.substr(begin, end - begin)];
      begin = end + 1;
    }
    node->data = &tensor;
    node->natural = natural.count(path) != 0;
  }
  uint64_t next = root.place(superblock_bytes);
  std::vector<const Tensor *> data;
  std::map<const Node *, uint64_t> places;
  root.each([&](Node &n) {
    if (!n.data) return;
    places[&n] = next;
    data.push_back(n.data);
    next += static_cast<uint64_t>(round_up(n.data->bytes(), align));
  });
  head = "\x89HDF\r\n\x1a\n";
  put(head, {{0, 5}, {8, 1}, {8, 1}, {0, 1}, {4, 2}, {16, 2}, {0, 4}});  // 4, 16: symbol-table nodes, unused
  put(head, {{0, 8}, {nowhere, 8}, {next, 8}, {nowhere, 8}, {0, 8}, {root.at, 8}});
  head.resize(superblock_bytes, '\0');
  root.each([&](Node &n) { head += n.data ? dataset(*n.data, n.natural, places[&n]) : n.group(); });
  std::vector<std::string_view> parts{head};
  static constexpr char zeros[align] = {};
  for (const Tensor *t : data) {
    const std::string_view bytes = t->chars();
    if (bytes.empty()) continue;
    parts.push_back(bytes);
    if (bytes.size() % align != 0) parts.emplace_back(zeros, align - bytes.size() % align);
  }
  return parts;
}

}  // namespace dl4::io
