// Windows of any size over small images: what is too large is refused in words, what is taken gives the right numbers
// and can be trained.
#include "graph/nets.hpp"

namespace dl4::graph::DL4_FILE {
namespace {

constexpr int64_t limit = 2147483647;

// ---- Limits ---------------------------------------------------------------------------------------------------------

struct Limit {
  const char *kind, *key;
  Json config;  // without the key
  Shape input;
  int64_t most = limit;
};

TEST(Windows, SizesPastTheLimitAreRefusedByName) {
  const Shape image{free_dim, 8, 8, 2}, sequence{free_dim, 8, 2}, row{free_dim, 4};
  const Json conv = {{"filters", 2}, {"kernel_size", 2}}, none = Json::object();
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
      Net net;
      Json config = l.config;
      config[l.key] = list ? Json::array({v}) : Json(v);
      const std::string why =
          refused(Code::invalid_argument, [&] { net.add(l.kind, "fc", config, {net.input("x", l.input)}); });
      for (const std::string &part :
           {std::string("\"fc\""), text('"', l.key, '"'), text("expected at most ", l.most), text(v)})
        EXPECT_NE(why.find(part), std::string::npos) << why << "\nlacks " << part;
    }
  }
  Net net;
  EXPECT_NE(refused(Code::invalid_argument,
                    [&] {
                      net.add("Conv2D",
                              R"({"filters": 8, "kernel_size": 3, "padding": "same", "dilation_rate": 2147483642})",
                              {net.input("x", {free_dim, free_dim, 12, 3})});
                    })
                .find("kernel_size 3 (4294967285 cells with dilation_rate 2147483642) passes the limit"),
            std::string::npos);
}

// Once they overwrote the stack with the input, and memory beyond the arena.
TEST(Windows, AModelFileWithAHugeWindowDoesNotLoad) {
  const auto file = [](const Model &m, const char *key, const Json &value) {
    Architecture a = m.architecture();
    a.layers[1].config[key] = value;
    return refused(Code::invalid_argument, [&] { model_of(read_architecture(to_json(a))); });
  };
  const Json pooling{{"pool_size", {1, 7}}, {"padding", "same"}},
      conv{{"filters", 8}, {"kernel_size", 3}, {"padding", "same"}};
  EXPECT_NE(
      file(chain({{"AveragePooling2D", pooling.dump()}}, {free_dim, 1, 400, 4}), "pool_size", {1, int64_t{1} << 62}),
      "");
  EXPECT_NE(file(chain({{"Conv2D", conv.dump()}}, {free_dim, 12, 12, 3}), "dilation_rate", {2147483642, 2147483642}),
            "");
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
      config_["filters"] = filters_;
      config_["kernel_initializer"] = "Ones";
      config_["dilation_rate"] = values(&Axis::dilation);
    }
    try_it(conv, one);
  }

  int64_t taken = 0, refused_ = 0;

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

  Json values(int64_t Axis::*member) const {
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
    SCOPED_TRACE(text(kind_, ' ', config_.dump(), " on ", axes_[0].n, 'x', axes_[1].n, 'x', channels_));
    Shape shape = one ? Shape{2, axes_[1].n, channels_} : Shape{2, axes_[0].n, axes_[1].n, channels_};
    Net net;
    // So that something can be learned in front of a pooling.
    const Json identity{{"units", channels_}, {"use_bias", false}, {"kernel_initializer", "Identity"}};
    const Node x = net.input("x", shape), same = net.add("Dense", "same", identity, {x});
    const bool inside = within_limits(), fits = inside && axes_[0].lay(padding_) && axes_[1].lay(padding_);
    if (!fits) {
      const std::string why = refused(inside ? Code::shape_mismatch : Code::invalid_argument,
                                      [&] { net.add(kind_, "window", config_, {same}); });
      EXPECT_NE(why.find("window"), std::string::npos) << why;
      ++refused_;
      return;
    }
    ++taken;
    const Model m = net.model({x}, {net.add(kind_, "window", config_, {same})});
    const Tensor ones = make_tensor(DType::f32, shape);
    std::fill_n(ones.as<float>(), ones.elements(), 1.f);
    const auto got = run(m, {ones}, {.training = true, .gradients = {"same/kernel"}});
    // All ones: a pooled value is 1, a convolved one counts the real cells.
    std::vector<float> expected;
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t i = 0; i < axes_[0].out; ++i)
        for (int64_t j = 0; j < axes_[1].out; ++j)
          expected.insert(expected.end(), static_cast<size_t>(conv ? filters_ : channels_),
                          conv ? static_cast<float>(axes_[0].cells(i) * axes_[1].cells(j) * channels_) : 1.0f);
    EXPECT_EQ(floats(got[0]), expected);
    for (float v : floats(got[1])) EXPECT_TRUE(std::isfinite(v));
  }

  std::mt19937_64 random_;
  std::string kind_, padding_;
  Axis axes_[2] = {};
  int64_t channels_ = 1, filters_ = 1;
  Json config_;
};

TEST(Windows, OfAnySizeAreRightOrRefused) {
  Nets nets(20);
  for (int i = 0; i < 2000 && !HasFailure(); ++i) nets();
  EXPECT_GT(nets.taken, 500);
  EXPECT_GT(nets.refused_, 500);
}

}  // namespace
}  // namespace dl4::graph::DL4_FILE
