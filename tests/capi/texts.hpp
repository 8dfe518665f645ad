// Tensors of strings, and the cases of tests/golden/texts.json.
#pragma once

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "capi/net.hpp"

namespace dl4_test {

using Strings = std::vector<std::string>;

inline Own<dl4_tensor> strings(const std::vector<int64_t> &dims, const Strings &values, dl4_context *c = nullptr) {
  std::vector<const char *> all;
  std::vector<int64_t> lengths;
  for (const std::string &s : values) all.push_back(s.data()), lengths.push_back(static_cast<int64_t>(s.size()));
  Own<dl4_tensor> t;
  ok(dl4_tensor_from_strings(c, static_cast<int32_t>(dims.size()), dims.data(), all.data(), lengths.data(), t.out()));
  return t;
}

inline Strings strings_of(const dl4_tensor *t) {
  Strings all;
  int64_t bytes = 0;
  while (const char *s = dl4_tensor_string(t, static_cast<int64_t>(all.size()), &bytes))
    all.emplace_back(s, static_cast<size_t>(bytes));
  return all;
}

// A string of the goldens: a character for each byte.
inline std::string bytes_of_text(const std::string &utf8) {
  std::string s;
  for (size_t i = 0; i < utf8.size(); ++i) {
    const auto c = static_cast<unsigned char>(utf8[i]);
    s += c < 0x80 ? utf8[i] : static_cast<char>((c & 3) << 6 | (static_cast<unsigned char>(utf8[++i]) & 0x3F));
  }
  return s;
}

inline int32_t dtype_of(const std::string &name) {
  return name == "string" ? DL4_STRING : name == "int64" ? DL4_INT64 : name == "int32" ? DL4_INT32 : DL4_FLOAT32;
}

// JSON has no infinity: Python writes Infinity, which is read as a text here.
inline nlohmann::json texts_json() {
  std::ifstream in(std::filesystem::path(DL4_SOURCE_DIR) / "tests/golden/texts.json", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (size_t at = 0; (at = text.find("Infinity", at)) != text.npos; at += 5) text.replace(at, 8, "1e308");
  return nlohmann::json::parse(text);
}

template <class T>
Own<dl4_tensor> tensor_as(int32_t dtype, const std::vector<int64_t> &dims, const nlohmann::json &values) {
  std::vector<T> v;
  for (const auto &x : values)
    v.push_back(static_cast<T>(x.is_number_integer() ? static_cast<double>(x.get<int64_t>()) : x.get<double>()));
  if constexpr (std::is_same_v<T, int64_t>)
    for (size_t i = 0; i < v.size(); ++i) v[i] = values[i].get<int64_t>();
  Own<dl4_tensor> t;
  ok(dl4_tensor_create(nullptr, dtype, static_cast<int32_t>(dims.size()), dims.data(), t.out()));
  ok(dl4_tensor_copy_in(t, v.data(), static_cast<int64_t>(v.size() * sizeof(T))));
  return t;
}

inline Own<dl4_tensor> tensor_of(const nlohmann::json &j) {
  const auto dims = j.at("shape").get<std::vector<int64_t>>();
  const int32_t dtype = dtype_of(j.at("dtype"));
  if (dtype == DL4_STRING) {
    Strings all;
    for (const auto &s : j.at("values")) all.push_back(bytes_of_text(s));
    return strings(dims, all);
  }
  if (dtype == DL4_INT64) return tensor_as<int64_t>(dtype, dims, j.at("values"));
  if (dtype == DL4_INT32) return tensor_as<int32_t>(dtype, dims, j.at("values"));
  return tensor_as<float>(dtype, dims, j.at("values"));
}

// Whole numbers and strings to the bit.
inline void expect_same(const dl4_tensor *got, const nlohmann::json &want) {
  ASSERT_NE(got, nullptr);
  ASSERT_EQ(dl4_tensor_dtype(got), dtype_of(want.at("dtype")));
  const std::vector<int64_t> dims(dl4_tensor_dims(got), dl4_tensor_dims(got) + dl4_tensor_rank(got));
  ASSERT_EQ(nlohmann::json(dims), want.at("shape"));
  auto expected = tensor_of(want);
  if (dl4_tensor_dtype(got) == DL4_STRING) {
    EXPECT_EQ(strings_of(got), strings_of(expected));
  } else if (dl4_tensor_dtype(got) == DL4_FLOAT32) {
    const std::vector<float> a = floats(got), b = floats(expected);
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6 * std::max(1.0f, std::abs(b[i]))) << i;
  } else {
    const int64_t bytes = dl4_tensor_bytes(got);
    ASSERT_EQ(bytes, dl4_tensor_bytes(expected));
    const bool equal =
        !bytes || std::memcmp(dl4_tensor_data(got), dl4_tensor_data(expected), static_cast<size_t>(bytes)) == 0;
    EXPECT_TRUE(equal);
  }
}

// One layer on inputs whose first axis is free. call: nodes by name.
inline Own<dl4_tensor> layer_on(const std::string &kind, const nlohmann::json &config,
                                const std::vector<dl4_tensor *> &in,
                                const std::map<std::string, dl4_tensor *> &call = {}) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  Own<dl4_session> s;
  Own<dl4_refs> r;
  ok(dl4_graph_create(nullptr, g.out()));
  ok(dl4_refs_create(r.out()));
  std::vector<dl4_node> nodes;
  std::vector<dl4_tensor *> all = in;
  auto add_input = [&](dl4_tensor *t) {
    std::vector<int64_t> dims(dl4_tensor_dims(t), dl4_tensor_dims(t) + dl4_tensor_rank(t));
    dims[0] = -1;
    nodes.push_back(input(g, nullptr, dims, dl4_tensor_dtype(t)));
  };
  for (dl4_tensor *t : in) add_input(t);
  const auto n = static_cast<int64_t>(in.size());
  for (const auto &[name, t] : call) {
    add_input(t), all.push_back(t);
    ok(dl4_refs_set_nodes(r, name.c_str(), &nodes.back(), 1));
  }
  dl4_node y = -1;
  ok(dl4_graph_add(g, kind.c_str(), "layer", config.dump().c_str(), nullptr, r, nodes.data(), n, &y, 1));
  if (y < 0) return {};
  ok(dl4_graph_build(g, nodes.data(), static_cast<int64_t>(nodes.size()), &y, 1, m.out()));
  ok(dl4_session_create(m, nullptr, s.out()));
  dl4_tensor *out = nullptr;
  ok(dl4_session_run(s, all.data(), static_cast<int64_t>(all.size()), &out, 1, nullptr));
  return out;
}

// Batches that a callback gives.
struct Given {
  std::vector<Own<dl4_tensor>> batches;
  static int32_t next(void *user, int64_t index, dl4_tensor **x, int64_t, dl4_tensor **, int64_t, dl4_tensor **,
                      int64_t) {
    auto &all = static_cast<Given *>(user)->batches;
    if (index >= static_cast<int64_t>(all.size())) return DL4_STOP;
    dl4_retain(all[static_cast<size_t>(index)].get());
    x[0] = all[static_cast<size_t>(index)].get();
    return DL4_CONTINUE;
  }
  Own<dl4_dataset> dataset() {
    Own<dl4_dataset> d;
    ok(dl4_dataset_from_callback(nullptr, next, this, nullptr, nullptr, d.out()));
    return d;
  }
};

}  // namespace dl4_test
