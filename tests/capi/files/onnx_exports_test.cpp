// Models as exporters write them (tests/io/exports/sample.py): what they give with two batches and lengths, written
// again too.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "capi/onnx_bytes.hpp"
#include "harness/folder.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;

const std::string there = DL4_SOURCE_DIR "/tests/io/data/onnx/exports/";

struct Array {
  bool integers;
  std::vector<int64_t> dims;
  std::string bytes;
  double at(size_t i) const {
    int64_t whole = 0;
    float real = 0;
    if (integers)
      std::memcpy(&whole, &bytes[8 * i], 8);
    else
      std::memcpy(&real, &bytes[4 * i], 4);
    return integers ? static_cast<double>(whole) : static_cast<double>(real);
  }
  size_t size() const { return bytes.size() / (integers ? 8 : 4); }
};

// By "<model>/<set>/input/<i>" and "output".
const std::map<std::string, Array> &arrays() {
  static const auto all = [] {
    const std::string bytes = bytes_of(there + "expected.safetensors");
    uint64_t head = 0;
    std::memcpy(&head, bytes.data(), 8);
    std::map<std::string, Array> found;
    const json header = json::parse(bytes.substr(8, head));
    for (const auto &[name, j] : header.items()) {
      const size_t begin = j["data_offsets"][0], end = j["data_offsets"][1];
      found[name] = {j["dtype"] == "I64", j["shape"].get<std::vector<int64_t>>(),
                     bytes.substr(8 + head + begin, end - begin)};
    }
    return found;
  }();
  return all;
}

std::vector<double> numbers(const dl4_tensor *t) {
  std::vector<double> all;
  const auto n = static_cast<size_t>(dl4_tensor_bytes(t));
  const void *data = dl4_tensor_data(const_cast<dl4_tensor *>(t));
  const auto each = [&](auto v) {
    for (size_t i = 0; i < n / sizeof v; ++i) {
      std::memcpy(&v, static_cast<const char *>(data) + i * sizeof v, sizeof v);
      all.push_back(static_cast<double>(v));
    }
  };
  switch (dl4_tensor_dtype(t)) {
    case DL4_FLOAT32:
      each(float{});
      break;
    case DL4_INT64:
      each(int64_t{});
      break;
    case DL4_INT32:
      each(int32_t{});
      break;
    default:
      each(uint8_t{});
  }
  return all;
}

void expect_equal(const dl4_model *m, const std::string &name) {
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  for (int set = 0; set < 2; ++set) {
    const auto port = [&](const char *side, int64_t i) {
      return name + '/' + std::to_string(set) + '/' + side + '/' + std::to_string(i);
    };
    std::vector<Own<dl4_tensor>> in;
    std::vector<dl4_tensor *> from;
    for (int64_t i = 0; i < dl4_port_count(m, DL4_INPUTS); ++i) {
      const Array &a = arrays().at(port("input", i));
      ok(dl4_tensor_create(nullptr, a.integers ? DL4_INT64 : DL4_FLOAT32, static_cast<int32_t>(a.dims.size()),
                           a.dims.data(), in.emplace_back().out()));
      ok(dl4_tensor_copy_in(in.back(), a.bytes.data(), static_cast<int64_t>(a.bytes.size())));
      from.push_back(in.back());
    }
    std::vector<dl4_tensor *> to(static_cast<size_t>(dl4_port_count(m, DL4_OUTPUTS)), nullptr);
    ok(dl4_session_run(s, from.data(), static_cast<int64_t>(from.size()), to.data(), static_cast<int64_t>(to.size()),
                       nullptr));
    for (size_t i = 0; i < to.size(); ++i) {
      const Array &wanted = arrays().at(port("output", static_cast<int64_t>(i)));
      const std::vector<double> got = numbers(to[i]);
      dl4_release(to[i]);
      ASSERT_EQ(got.size(), wanted.size()) << name << ' ' << i;
      for (size_t k = 0; k < got.size(); ++k)
        ASSERT_NEAR(got[k], wanted.at(k), 1e-4 * std::max(1.0, std::abs(wanted.at(k)))) << name << ' ' << i << ' ' << k;
    }
  }
}

TEST(OnnxExports, GiveWhatOnnxRuntimeGave) {
  size_t n = 0;
  for (const auto &entry : std::filesystem::directory_iterator(there)) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path().stem().string());
    Own<dl4_model> m;
    ok(dl4_model_load(nullptr, entry.path().c_str(), nullptr, m.out()));
    if (!m) continue;
    expect_equal(m, entry.path().stem().string());
    Refusal r;  // and as a file of ours
    const auto again = load(nullptr, saved(m), r);
    ASSERT_EQ(r.code, 0) << r.message;
    expect_equal(again, entry.path().stem().string());
    ++n;
  }
  EXPECT_GT(n, 20u);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
