// What reaches over more axes than usual: what is refused of it.
#include "kinds/layer_call.hpp"

namespace dl4::kinds::DL4_FILE {
namespace {

using test::expect_call_refusal;
using test::expect_refusal;
using test::LayerCall;

void expect_mask_refusal(const char *kind, const Json &config, const Shape &x, const Shape &mask,
                         const std::string &words) {
  expect_refusal(Code::shape_mismatch, words, [&] {
    LayerCall l(kind, config);
    Arguments given;
    given.symbols["mask"] = {l.input(mask, DType::boolean)};
    l.call({l.input(x)}, given);
  });
}

TEST(Broadcasting, MasksThatDoNotFit) {
  for (const Shape &mask : {Shape{2, 2}, Shape{2, 3, 1, 1}, Shape{2, 2, 1}, Shape{2}})
    expect_mask_refusal("BatchNormalization", {}, {2, 3, 4, 5}, mask,
                        "\"mask\": expected all axes but the last of (2, ");
  for (const Shape &mask : {Shape{2, 4, 4}, Shape{1, 3}, Shape{2}})
    expect_mask_refusal("TimeDistributed", {{"layer", {{"class_name", "Dense"}, {"config", {{"units", 2}}}}}},
                        {2, 3, 4}, mask, "\"mask\": expected shape (batch, time, ...), got (");
}

TEST(Broadcasting, AttentionOfImages) {
  expect_call_refusal("Attention", {}, {{2, 3, 4, 5}, {2, 4, 5}},
                      "input 1 is incompatible with the layer: expected ndim=4");
  expect_call_refusal("AdditiveAttention", {}, {{2, 3}, {3}}, "expected min_ndim=3, found ndim=2");
  expect_call_refusal("Attention", {}, {{2, 3, 4, 5}, {2, 3, 6, 5}, {2, 3, 4, 5}}, "as many steps");
  expect_refusal(Code::unsupported, "\"mask\": is taken with inputs of 3 axes, got 4", [] {
    LayerCall l("Attention");
    l.call({l.input({2, 3, 4, 5}), l.masked({2, 3, 4, 5})});
  });
}

TEST(Broadcasting, TruthsAreNotBlended) {
  expect_call_refusal("UpSampling2D", {{"interpolation", "bilinear"}}, {{1, 2, 2, 1}}, "expected dtype=float32",
                      Code::invalid_argument, DType::boolean);
}

TEST(Broadcasting, InitialValues) {
  const auto fill = [](const Json &value, const Shape &shape) {
    Tensor t = make_tensor(DType::f32, shape);
    parse<Initializer>({{"class_name", "Constant"}, {"config", {{"value", value}}}})->fill(t, {});
    return test::values(t);
  };
  EXPECT_EQ(fill({1, 2}, {2, 2}), (std::vector<double>{1, 2, 1, 2}));
  EXPECT_EQ(fill({{1}, {2}}, {2, 2}), (std::vector<double>{1, 1, 2, 2}));
  for (const Shape &shape : {Shape{3}, Shape{2, 1}, Shape{}})
    expect_refusal(Code::shape_mismatch, "initializer Constant: values of shape (2,) do not broadcast to ", [&] {
      fill({1, 2}, shape);
    });
  expect_refusal(Code::invalid_argument, "\"value\": expected lists of equal lengths", [&] {
    fill({{1, 2}, {3}}, {2});
  });
}

}  // namespace
}  // namespace dl4::kinds::DL4_FILE
