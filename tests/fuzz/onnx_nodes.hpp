// Changes to the nodes of an ONNX file that leave its fields in order: inputs and outputs go or come, attributes too, a
// node moves into the bodies of an If. A changed byte seldom makes one.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace dl4_test::onnx_nodes {

using Random = std::mt19937;

struct Field {
  uint32_t number = 0, wire = 2;  // 0: a varint, 1 and 5: eight and four bytes, 2: bytes
  uint64_t value = 0;
  std::string bytes{};
};
using Message = std::vector<Field>;

inline std::optional<uint64_t> take_varint(std::string_view &bytes) {
  uint64_t v = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto c = static_cast<unsigned char>(bytes[0]);
    bytes.remove_prefix(1);
    v |= static_cast<uint64_t>(c & 127) << shift;
    if (c < 128) return v;
  }
  return {};
}

inline std::optional<Message> parse(std::string_view bytes) {
  Message all;
  while (!bytes.empty()) {
    const auto tag = take_varint(bytes);
    if (!tag) return {};
    Field f{static_cast<uint32_t>(*tag >> 3), static_cast<uint32_t>(*tag & 7)};
    if (f.wire == 0) {
      const auto v = take_varint(bytes);
      if (!v) return {};
      f.value = *v;
    } else {
      const auto n = f.wire == 2 ? take_varint(bytes) : std::optional<uint64_t>(f.wire == 1 ? 8 : 4);
      if (!n || *n > bytes.size() || (f.wire != 1 && f.wire != 2 && f.wire != 5)) return {};
      f.bytes = bytes.substr(0, *n);
      bytes.remove_prefix(*n);
    }
    all.push_back(std::move(f));
  }
  return all;
}

inline std::string varint(uint64_t v) {
  std::string s;
  for (; v >= 128; v >>= 7) s += static_cast<char>(v | 128);
  return s + static_cast<char>(v);
}
inline std::string written(const Message &m) {
  std::string s;
  for (const Field &f : m) {
    s += varint(uint64_t{f.number} << 3 | f.wire);
    s += f.wire == 0 ? varint(f.value) : f.wire == 2 ? varint(f.bytes.size()) + f.bytes : f.bytes;
  }
  return s;
}

inline size_t below(Random &random, size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); }

// The places of the fields of that number.
inline std::vector<size_t> places(const Message &m, uint32_t number) {
  std::vector<size_t> all;
  for (size_t i = 0; i < m.size(); ++i)
    if (m[i].number == number && m[i].wire == 2) all.push_back(i);
  return all;
}
inline std::optional<size_t> any(const Message &m, uint32_t number, Random &random) {
  const auto all = places(m, number);
  return all.empty() ? std::nullopt : std::optional(all[below(random, all.size())]);
}
inline void drop(Message &m, uint32_t number, Random &random) {
  if (const auto at = any(m, number, random)) m.erase(m.begin() + static_cast<std::ptrdiff_t>(*at));
}

inline std::string attribute(Random &random) {
  constexpr const char *names[] = {"axis",   "axes",      "mode",  "no_such", "pads",     "keepdims",
                                   "layout", "direction", "alpha", "to",      "auto_pad", "body"};
  constexpr const char *words[] = {"linear", "reverse", "SAME_LOWER", "no_such", "tanh", ""};
  Message a{{1, 2, 0, names[below(random, std::size(names))]}};
  const size_t type = 1 + below(random, 8);
  if (type == 1) a.push_back({2, 5, 0, std::string("\0\0\0\x3f", 4)});
  if (type == 2) a.push_back({3, 0, below(random, 4)});
  if (type == 3) a.push_back({4, 2, 0, words[below(random, std::size(words))]});
  if (type == 7) a.push_back({8, 0, below(random, 3)});
  a.push_back({20, 0, type});
  return written(a);
}

// The node in both branches of an If on one of its inputs.
inline void nest(Message &node, Random &random) {
  const auto cond = any(node, 1, random);
  Message body{{1, 2, 0, written(node)}, {2, 2, 0, "body"}}, outer;
  for (const Field &f : node)
    if (f.number == 2) {
      outer.push_back(f);
      body.push_back({12, 2, 0, written({{1, 2, 0, f.bytes}})});
    }
  outer.insert(outer.begin(), {1, 2, 0, cond ? node[*cond].bytes : "x"});
  outer.push_back({4, 2, 0, "If"});
  for (const char *name : {"then_branch", "else_branch"})
    outer.push_back({5, 2, 0, written({{1, 2, 0, name}, {6, 2, 0, written(body)}, {20, 0, 5}})});
  node = std::move(outer);
}

inline void change_graph(std::string &bytes, Random &random, int depth = 0);

inline void change(Message &node, const Message &graph, Random &random, int depth) {
  const auto at = any(node, 5, random);
  if (at && depth < 8 && below(random, 2) == 0) {  // in a body
    auto a = parse(node[*at].bytes);
    const auto inside = a ? any(*a, 6, random) : std::nullopt;
    if (inside) {
      change_graph((*a)[*inside].bytes, random, depth + 1);
      node[*at].bytes = written(*a);
      return;
    }
  }
  switch (below(random, 10)) {
    case 0:
    case 1:
      return drop(node, 1, random);
    case 2:
      if (const auto i = any(node, 1, random)) node[*i].bytes.clear();
      return;
    case 3: {  // another value of the graph
      const auto from = any(graph, 1, random);
      const auto other = from ? parse(graph[*from].bytes) : std::nullopt;
      if (const auto i = other ? any(*other, 1 + static_cast<uint32_t>(below(random, 2)), random) : std::nullopt)
        node.insert(node.begin(), {1, 2, 0, (*other)[*i].bytes});
      return;
    }
    case 4:
      return drop(node, 2, random);
    case 5:
      return drop(node, 5, random);
    case 6:
      node.push_back({5, 2, 0, attribute(random)});
      return;
    case 7:
      if (auto a = at ? parse(node[*at].bytes) : std::nullopt) {
        for (Field &f : *a)
          if (f.number == 20) f.value = below(random, 10);
        node[*at].bytes = written(*a);
      }
      return;
    case 8:
      if (at) node.push_back(node[*at]);
      return;
    default:
      return nest(node, random);
  }
}

inline void change_graph(std::string &bytes, Random &random, int depth) {
  auto graph = parse(bytes);
  const auto at = graph ? any(*graph, 1, random) : std::nullopt;
  if (!at) return;
  auto node = parse((*graph)[*at].bytes);
  if (!node) return;
  change(*node, *graph, random, depth);
  (*graph)[*at].bytes = written(*node);
  bytes = written(*graph);
}

// The file with one change; as it is where it is none of ONNX.
inline std::string changed(const std::string &file, uint32_t seed) {
  Random random(seed);
  auto model = parse(file);
  const auto graph = model ? any(*model, 7, random) : std::nullopt;
  if (!graph) return file;
  change_graph((*model)[*graph].bytes, random);
  return written(*model);
}

}  // namespace dl4_test::onnx_nodes
