// Windows of any size over small images: what is too large is refused in words, what is taken gives the right numbers
// and can be trained.
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "capi/net.hpp"

namespace {

using namespace dl4_test;
using nlohmann::json;

constexpr int64_t limit = 2147483647;

// ---- Limits ---------------------------------------------------------------------------------------------------------

struct Limit {
  const char *kind, *key;
  json config;  // without the key
  std::vector<int64_t> input;
  int64_t most = limit;
};

TEST(Windows, SizesPastTheLimitAreRefusedByName) {
  const std::vector<int64_t> image{-1, 8, 8, 2}, sequence{-1, 8, 2}, row{-1, 4};
  const json conv = {{"filters", 2}, {"kernel_size", 2}}, none = json::object();
  const Limit limits[] = {{"MaxPooling2D", "pool_size", none, image},
                          {"MaxPooling2D", "strides", none, image},
                          {"AveragePooling2D", "pool_size", none, image},
                          {"AveragePooling2D", "strides", {{"pool_size", 2}}, image},
                          {"Conv2D", "filters", conv, image},
                          {"Conv2D", "kernel_size", conv, image},
                          {"Conv2D", "strides", conv, image},
                          {"Conv2D", "dilation_rate", conv, image},
                          {"Conv2D", "groups", conv, image},
                          {"Conv1D", "filters", conv, sequence},
                          {"Conv1D", "kernel_size", conv, sequence},
                          {"Conv1D", "strides", conv, sequence},
                          {"Conv1D", "dilation_rate", conv, sequence},
                          {"Conv1D", "groups", conv, sequence},
                          {"Dense", "units", none, row},
                          {"LSTM", "units", none, sequence, limit / 4},
                          {"Embedding", "input_dim", {{"output_dim", 2}}, row},
                          {"Embedding", "output_dim", {{"input_dim", 2}}, row},
                          {"Reshape", "target_shape", none, row},
                          {"Dropout", "noise_shape", {{"rate", 0.5}}, row}};
  for (const Limit &l : limits) {
    const bool list = std::strstr(l.key, "shape");
    for (int64_t v : {l.most + 1, int64_t{1} << 62, INT64_MAX}) {
      Own<dl4_graph> g;
      ok(dl4_graph_create(nullptr, g.out()));
      dl4_node x = input(g, "x", l.input), y = -1;
      json config = l.config;
      config[l.key] = list ? json::array({v}) : json(v);
      Refusal r = refusal(dl4_graph_add(g, l.kind, "fc", config.dump().c_str(), nullptr, nullptr, &x, 1, &y, 1));
      EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT) << l.kind << ' ' << config;
      for (const std::string &part : {std::string("\"fc\""), '"' + std::string(l.key) + '"',
                                      "expected at most " + std::to_string(l.most), std::to_string(v)})
        EXPECT_NE(r.message.find(part), std::string::npos) << r.message << "\nlacks " << part;
    }
  }
}

TEST(Windows, ADilatedWindowPastTheLimitIsRefused) {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, -1, 12, 3}), y = -1;
  Refusal r = refusal(dl4_graph_add(
      g, "Conv2D", "fc", R"({"filters": 8, "kernel_size": 3, "padding": "same", "dilation_rate": 2147483642})", nullptr,
      nullptr, &x, 1, &y, 1));
  EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
  EXPECT_NE(r.message.find("kernel_size 3 (4294967285 cells with dilation_rate 2147483642) passes the limit"),
            std::string::npos)
      << r.message;
}

// ---- Files ----------------------------------------------------------------------------------------------------------

Own<dl4_model> windowed(const char *kind, const json &config, const std::vector<int64_t> &dims) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", dims), y = add(g, kind, "window", config.dump(), x);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  return m;
}

std::string saved(const dl4_model *m) {
  Own<dl4_blob> blob;
  ok(dl4_model_save_bytes(m, nullptr, blob.out()));
  return {static_cast<const char *>(dl4_blob_data(blob)), static_cast<size_t>(dl4_blob_size(blob))};
}

// The file with another value for an attribute of the layer "window".
std::string with_attribute(const std::string &file, const char *key, const json &value) {
  uint64_t n = 0;
  std::memcpy(&n, file.data(), 8);
  json header = json::parse(file.substr(8, n));
  json &text = header["__metadata__"]["architecture"], architecture = json::parse(text.get<std::string>());
  for (json &layer : architecture["layers"])
    if (layer["name"] == "window") layer["config"][key] = value;
  text = architecture.dump();
  std::string changed = header.dump(), start(8, '\0');
  changed.append((8 - changed.size() % 8) % 8, ' ');
  const uint64_t length = changed.size();
  std::memcpy(start.data(), &length, 8);
  return start + changed + file.substr(8 + n);
}

// Once they overwrote the stack with the input, and memory beyond the arena.
TEST(Windows, AModelFileWithAHugeWindowDoesNotLoad) {
  const std::string pooling =
      saved(windowed("AveragePooling2D", {{"pool_size", {1, 7}}, {"padding", "same"}}, {-1, 1, 400, 4}));
  const std::string conv =
      saved(windowed("Conv2D", {{"filters", 8}, {"kernel_size", 3}, {"padding", "same"}}, {-1, 12, 12, 3}));
  const std::string files[] = {with_attribute(pooling, "pool_size", {1, int64_t{1} << 62}),
                               with_attribute(conv, "dilation_rate", {2147483642, 2147483642})};
  for (const std::string &file : files) {
    Own<dl4_model> m;
    Refusal r = refusal(load_copy(nullptr, file.data(), static_cast<int64_t>(file.size()), nullptr, m.out()));
    EXPECT_NE(r.code, 0);
    EXPECT_EQ(m.get(), nullptr);
  }
}

// ---- Random nets ----------------------------------------------------------------------------------------------------

struct Axis {
  int64_t n, size, stride, dilation, out = 0, before = 0;

  // As Keras lays windows. False where none fits.
  bool lay(const std::string &padding) {
    const int64_t reach = (size - 1) * dilation + 1;
    out = padding == "valid" ? (n - reach) / stride + 1 : n / stride + (n % stride != 0);
    if (padding == "same") before = std::max<int64_t>(0, (out - 1) * stride + reach - n) / 2;
    if (padding == "causal") before = reach - 1;
    return padding != "valid" || reach <= n;
  }
  // How many real cells window i has.
  int64_t cells(int64_t i) const {
    int64_t count = 0;
    const int64_t first = i * stride - before;
    for (int64_t k = 0; k < size; ++k) count += first + k * dilation >= 0 && first + k * dilation < n;
    return count;
  }
};

class Nets {
 public:
  explicit Nets(uint64_t seed) : random_(seed) {}

  // One net: refused for a reason, or run and trained for a step.
  void operator()() {
    const char *kinds[] = {"MaxPooling2D", "AveragePooling2D", "Conv2D", "Conv1D"};
    kind_ = kinds[below(4)];
    const bool conv = kind_[0] == 'C', one = kind_ == "Conv1D";
    channels_ = 1 + below(5);
    padding_ = below(3) ? "same" : one && below(2) ? "causal" : "valid";
    for (Axis &a : axes_) a = {1 + below(12), any(!conv), any(true), 1};
    if (one) axes_[0] = {1, 1, 1, 1};
    if (conv)
      for (Axis &a : axes_) dilate(a, &a == &axes_[0] && one);
    config_ = {{"padding", padding_}, {"strides", values(&Axis::stride)}};
    config_[conv ? "kernel_size" : "pool_size"] = values(&Axis::size);
    if (conv) {
      filters_ = below(2) ? 1 + below(10) : 17;
      config_.update(
          {{"filters", filters_}, {"kernel_initializer", "Ones"}, {"dilation_rate", values(&Axis::dilation)}});
    }
    try_it(conv, one);
  }

  int64_t taken = 0, refused = 0;

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  // Mostly small; else around a power of 2 up to 2^63, which as the size of a kernel would need a weight of that size.
  int64_t any(bool large) {
    if (!large || below(3)) return below(20) ? 1 + below(6) : limit + 1 + below(1000);
    const int64_t power = int64_t{1} << below(63);
    return std::max<int64_t>(1, below(2) ? power : power - 1 + (power - 1 - below(9)));
  }

  void dilate(Axis &a, bool unused) {
    if (unused || a.stride > 1 || below(2)) return;
    a.dilation = any(true);
    axes_[0].stride = axes_[1].stride = 1;
  }

  json values(int64_t Axis::*member) const {
    if (kind_ == "Conv1D") return axes_[1].*member;
    return {axes_[0].*member, axes_[1].*member};
  }

  bool within_limits() const {
    for (const Axis &a : axes_)
      if (a.size > limit || a.stride > limit || a.dilation > limit ||
          (a.size > 1 && a.dilation > (limit - 1) / (a.size - 1)))
        return false;
    return true;
  }

  void try_it(bool conv, bool one) {
    SCOPED_TRACE(kind_ + ' ' + config_.dump() + " on " + std::to_string(axes_[0].n) + 'x' + std::to_string(axes_[1].n) +
                 'x' + std::to_string(channels_));
    Own<dl4_graph> g;
    ok(dl4_graph_create(nullptr, g.out()));
    std::vector<int64_t> dims{2, axes_[0].n, axes_[1].n, channels_};
    if (one) dims.erase(dims.begin() + 1);
    dl4_node x = input(g, "x", dims), y = -1;
    // So that something can be learned in front of a pooling.
    dl4_node same = add(g, "Dense", "same",
                        json{{"units", channels_}, {"use_bias", false}, {"kernel_initializer", "Identity"}}.dump(), x);
    Refusal r =
        refusal(dl4_graph_add(g, kind_.c_str(), "window", config_.dump().c_str(), nullptr, nullptr, &same, 1, &y, 1));
    const bool inside = within_limits(), fits = inside && axes_[0].lay(padding_) && axes_[1].lay(padding_);
    EXPECT_EQ(r.code, fits ? 0 : inside ? DL4_SHAPE_MISMATCH : DL4_INVALID_ARGUMENT) << r.message;
    EXPECT_TRUE(fits || r.message.find("window") != std::string::npos) << r.message;
    (r.code ? refused : taken) += 1;
    if (r.code || !fits) return;
    Own<dl4_model> m;
    ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
    run_and_train(m, dims, conv, one);
  }

  void run_and_train(dl4_model *m, const std::vector<int64_t> &dims, bool conv, bool one) {
    size_t n = 1;
    for (int64_t d : dims) n *= static_cast<size_t>(d);
    auto x = tensor(dims, std::vector<float>(n, 1.0f));
    Own<dl4_session> s;
    ok(dl4_session_create(m, nullptr, s.out()));
    dl4_tensor *in = x, *out = nullptr;
    ok(dl4_session_run(s, &in, 1, &out, 1, nullptr));
    ASSERT_NE(out, nullptr);
    Own<dl4_tensor> y(out);
    // All ones: a pooled value is 1, a convolved one counts the real cells.
    std::vector<float> expected;
    const int64_t channels = conv ? filters_ : channels_;
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t i = 0; i < axes_[0].out; ++i)
        for (int64_t j = 0; j < axes_[1].out; ++j)
          expected.insert(expected.end(), static_cast<size_t>(channels),
                          conv ? static_cast<float>(axes_[0].cells(i) * axes_[1].cells(j) * channels_) : 1.0f);
    EXPECT_EQ(floats(y), expected);

    std::vector<int64_t> out_dims{2, axes_[0].out, axes_[1].out, channels};
    if (one) out_dims.erase(out_dims.begin() + 1);
    auto t = trainer(m);
    auto target = tensor(out_dims);
    dl4_tensor *to = target;
    ok(dl4_trainer_step(t, &in, 1, &to, 1, nullptr, 0, nullptr, 0, nullptr));
  }

  std::mt19937_64 random_;
  std::string kind_, padding_;
  Axis axes_[2] = {};
  int64_t channels_ = 1, filters_ = 1;
  json config_;
};

TEST(Windows, OfAnySizeAreRightOrRefused) {
  Nets nets(20);
  for (int i = 0; i < times(100, 2000) && !testing::Test::HasFailure(); ++i) nets();
  EXPECT_GT(nets.taken, times(20, 500));
  EXPECT_GT(nets.refused, times(20, 500));
}

}  // namespace
