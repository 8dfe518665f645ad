// What can be done with any model: its bytes, loading them within limits, tensors of its inputs.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "net.hpp"

namespace dl4_test {

inline std::string saved(const dl4_model *m) {
  Own<dl4_blob> b;
  ok(dl4_model_save_bytes(m, nullptr, b.out()));
  return b ? std::string(dl4_blob_data(b), static_cast<size_t>(dl4_blob_size(b))) : "";
}

inline Own<dl4_context> bounded() {
  Own<dl4_context> c;
  ok(dl4_context_create(R"({"threads": 1, "memory_limit": 67108864})", c.out()));
  return c;
}

inline Own<dl4_model> load(dl4_context *c, const std::string &bytes, Refusal &r) {
  dl4_model *m = reinterpret_cast<dl4_model *>(8);
  r = refusal(load_copy(c, bytes.data(), static_cast<int64_t>(bytes.size()), nullptr, &m));
  EXPECT_EQ(r.code != 0, m == nullptr);
  return m;
}

inline std::string described(const void *object, int32_t format) {
  Own<dl4_blob> b;
  ok(dl4_describe(object, format, b.out()));
  return b ? dl4_blob_data(b) : "";
}

// A tensor for each input of a session, `rows` where a dimension is free: small numbers, or integers from 0 to 2.
// Nothing if they are too large for a test.
inline std::optional<std::vector<Own<dl4_tensor>>> inputs_of(const dl4_session *s, int64_t rows) {
  const nlohmann::json facts = nlohmann::json::parse(described(s, DL4_FORMAT_JSON));
  std::vector<Own<dl4_tensor>> in;
  for (const auto &i : facts.at("inputs")) {
    int64_t dims[8], elements = 1;
    int32_t rank = 0;
    ok(dl4_port_shape(s, DL4_INPUTS, static_cast<int64_t>(in.size()), dims, 8, &rank));
    for (int32_t d = 0; d < rank; ++d) {
      if (dims[d] < 0) dims[d] = rows;
      if (dims[d] > 1000 || (elements *= dims[d]) > 100000) return std::nullopt;
    }
    const bool is_float = i.at("dtype") == "float32", is_bytes = i.at("dtype") == "bool" || i.at("dtype") == "uint8";
    const int32_t dtype = is_float                   ? DL4_FLOAT32
                          : i.at("dtype") == "int64" ? DL4_INT64
                          : i.at("dtype") == "uint8" ? DL4_UINT8
                          : i.at("dtype") == "bool"  ? DL4_BOOL
                                                     : DL4_INT32;
    Own<dl4_tensor> t;
    if (i.at("dtype") == "string") {
      const std::vector<const char *> words(static_cast<size_t>(elements), "a");
      ok(dl4_tensor_from_strings(nullptr, rank, dims, words.data(), nullptr, t.out()));
      in.push_back(std::move(t));
      continue;
    }
    ok(dl4_tensor_create(nullptr, dtype, rank, dims, t.out()));
    void *data = dl4_tensor_data(t);
    const auto values = numbers(static_cast<size_t>(elements));
    for (int64_t e = 0; e < elements; ++e) {
      if (is_float) static_cast<float *>(data)[e] = values[static_cast<size_t>(e)];
      if (is_bytes) static_cast<uint8_t *>(data)[e] = e % 3 != 0;
      if (dtype == DL4_INT32) static_cast<int32_t *>(data)[e] = static_cast<int32_t>(e % 3);
      if (dtype == DL4_INT64) static_cast<int64_t *>(data)[e] = e % 3;
    }
    in.push_back(std::move(t));
  }
  return in;
}

}  // namespace dl4_test
