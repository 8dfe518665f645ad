// ONNX files made field by field.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <type_traits>
#include <vector>

#include "use.hpp"

namespace dl4_test::onnx_bytes {

inline std::string varint(uint64_t v) {
  std::string s;
  for (; v >= 128; v >>= 7) s += static_cast<char>(v | 128);
  return s + static_cast<char>(v);
}
inline std::string field(int number, const std::string &bytes) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
}
inline std::string field(int number, int64_t v) {
  return varint(static_cast<uint64_t>(number) << 3) + varint(static_cast<uint64_t>(v));
}
inline std::string port(int number, const std::string &name, int type, const std::vector<int64_t> &dims) {
  std::string shape;
  for (int64_t d : dims) shape += field(1, d < 0 ? field(2, std::string("n")) : field(1, d));
  return field(number, field(1, name) + field(2, field(1, field(1, type) + field(2, shape))));
}
inline std::string named(const std::string &op, const std::vector<std::string> &in, const std::string &out,
                         const std::string &more = "") {
  std::string s;
  for (const std::string &name : in) s += field(1, name);
  return field(1, s + field(2, out) + field(4, op) + more);
}
inline std::string node(const std::string &op, const std::vector<std::string> &in, const std::string &more = "") {
  return named(op, in, "y", field(3, "the_" + op) + more);
}
inline std::string attribute(const std::string &name, const std::string &value, int type) {
  return field(5, field(1, name) + value + field(20, type));
}
inline std::string integer(const std::string &name, int64_t v) { return attribute(name, field(3, v), 2); }
inline std::string real(const std::string &name, float v) {
  return attribute(name, varint(2 << 3 | 5) + std::string(reinterpret_cast<const char *>(&v), sizeof v), 1);
}
inline std::string integers(const std::string &name, const std::vector<int64_t> &list) {
  std::string all;
  for (int64_t v : list) all += field(8, v);
  return attribute(name, all, 7);
}
inline std::string model_of(const std::string &graph, const std::string &ports, int64_t opset = 20) {
  return field(1, int64_t{9}) + field(7, graph + field(2, std::string("g")) + ports) +
         field(8, field(1, std::string()) + field(2, opset));
}

inline std::string model(const std::string &graph, int64_t opset = 20) {
  return model_of(graph, port(11, "x", 1, {-1, 4}) + port(12, "y", 1, {-1, 4}), opset);
}
template <class T>
std::string initializer(const std::string &name, int64_t type, const std::vector<int64_t> &dims, std::vector<T> v) {
  std::string t;
  for (int64_t d : dims) t += field(1, d);
  const std::string raw(reinterpret_cast<const char *>(v.data()), v.size() * sizeof(T));
  return field(5, t + field(2, type) + field(8, name) + field(9, raw));
}

// The first output of a model of one input.
template <class To, class From>
std::vector<To> run(const std::string &bytes, const std::vector<int64_t> &dims, std::vector<From> given) {
  Refusal r;
  const auto m = load(nullptr, bytes, r);
  EXPECT_EQ(r.code, 0) << r.message;
  if (!m) return {};
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  Own<dl4_tensor> from, to;
  ok(dl4_tensor_wrap(nullptr, std::is_same_v<From, float> ? DL4_FLOAT32 : DL4_INT64, static_cast<int32_t>(dims.size()),
                     dims.data(), nullptr, given.data(), static_cast<int64_t>(given.size() * sizeof(From)), nullptr,
                     nullptr, from.out()));
  dl4_tensor *in = from;
  ok(dl4_session_run(s, &in, 1, to.out(), 1, nullptr));
  EXPECT_EQ(dl4_tensor_bytes(to) % static_cast<int64_t>(sizeof(To)), 0);
  const To *data = static_cast<const To *>(dl4_tensor_data(to));
  return {data, data + dl4_tensor_bytes(to) / static_cast<int64_t>(sizeof(To))};
}

// A load, and the seconds of processor time that it takes, a sanitizer's share taken off: the machine may be busy.
struct Loaded {
  Refusal r;
  Own<dl4_model> m;
  double seconds;
};
inline Loaded timed(dl4_context *c, const std::string &bytes) {
  Loaded l;
  const std::clock_t start = std::clock();
  l.m = load(c, bytes, l.r);
  l.seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / (sanitized ? 10 : 1);
  return l;
}

inline void expect_refusal(const std::string &bytes, int32_t code, const std::vector<std::string> &words) {
  Refusal r;
  const auto m = load(nullptr, bytes, r);
  EXPECT_EQ(r.code, code) << r.message;
  for (const std::string &word : words)
    EXPECT_NE(r.message.find(word), std::string::npos) << word << " in: " << r.message;
}

}  // namespace dl4_test::onnx_bytes
