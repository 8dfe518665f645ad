// Layers without state of their own, Dense, convolution, pooling, Embedding, Masking: refusals, shapes, masks.
#include <limits>

#include <cmath>

#include "kinds/layer_call.hpp"

namespace dl4::test::DL4_FILE {
namespace {

const double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Dense, RefusesInputs) {
  expect_call_refusal("Dense", {{"units", 3}}, {{free_dim, free_dim}}, "the last dimension of input 0 should be known");
  expect_call_refusal("Dense", {{"units", 3}}, {{4}}, "expected min_ndim=2, found ndim=1. Full shape received: (4,)");
  LayerCall l("Dense", {{"units", 3}});
  EXPECT_EQ(l.shape(l.call({l.input({2, 4}, DType::i64)})[0]), (Shape{2, 3}));  // as Keras casts them
}

TEST(Dense, WeightsMaskAndPenalty) {
  LayerCall l("Dense", {{"units", 3}, {"activity_regularizer", {{"class_name", "L1"}, {"config", {{"l1", 0.5}}}}}});
  Symbol x = l.masked({free_dim, free_dim, 2});
  auto y = l.call({x});
  EXPECT_EQ(y[0].mask, x.mask);
  EXPECT_EQ(l.shape(y[0]), (Shape{free_dim, free_dim, 3}));
  ASSERT_EQ(l.specs.size(), 2u);
  EXPECT_EQ(l.specs[0].shape, (Shape{2, 3}));
  ASSERT_EQ(l.losses.size(), 1u);
  auto got = l.run({{l.losses[0]}}, {tensor<float>({2, 1, 2}, {1, 2, 3, 4}), tensor<bool>({2, 1}, {true, true})});
  EXPECT_FLOAT_EQ(got[0].as<float>()[0], 0.5f * (3 * 4 + 3 * 8) / 2);
  LayerCall bare("Dense", {{"units", 3}, {"use_bias", false}});
  bare.call({bare.input({1, 2})});
  EXPECT_EQ(bare.specs.size(), 1u);
}

TEST(Shapes, FlattenReshapePermuteTranspose) {
  LayerCall flatten("Flatten");
  EXPECT_EQ(flatten.shape(flatten.call({flatten.input({free_dim, 2, 3})})[0]), (Shape{free_dim, 6}));
  EXPECT_EQ(flatten.shape(flatten.call({flatten.input({free_dim})})[0]), (Shape{free_dim, 1}));
  EXPECT_EQ(flatten.shape(flatten.call({flatten.input({free_dim, free_dim, 3})})[0]), (Shape{free_dim, free_dim}));
  LayerCall reshape("Reshape", {{"target_shape", {3, -1}}});
  EXPECT_EQ(reshape.shape(reshape.call({reshape.input({free_dim, 2, 6})})[0]), (Shape{free_dim, 3, 4}));
  LayerCall permute("Permute", {{"dims", {3, 1, 2}}});
  EXPECT_EQ(permute.shape(permute.call({permute.input({free_dim, 2, 3, 4})})[0]), (Shape{free_dim, 4, 2, 3}));
  LayerCall transpose("Transpose");
  EXPECT_EQ(transpose.shape(transpose.call({transpose.input({2, 3, 4})})[0]), (Shape{4, 3, 2}));
  LayerCall turned("Transpose", {{"perm", {0, -1, 1}}});
  EXPECT_EQ(turned.shape(turned.call({turned.input({2, 3, 4})})[0]), (Shape{2, 4, 3}));
}

TEST(Shapes, Refusals) {
  expect_config_refusal("Flatten", {{"data_format", "channel_last"}}, Code::invalid_argument,
                        "did you mean \"channels_last\"?");
  expect_config_refusal("Reshape", {{"target_shape", {-1, -1}}}, Code::invalid_argument, "at most one unknown");
  expect_config_refusal("Reshape", {{"target_shape", {-2}}}, Code::invalid_argument, "expected at least -1");
  expect_config_refusal("Permute", {{"dims", {1, 3}}}, Code::invalid_argument, "consecutive and start from 1");
  expect_call_refusal("Reshape", {{"target_shape", {4, 2}}}, {{free_dim, 9}}, "reshape");
  expect_call_refusal("Permute", {{"dims", {2, 1}}}, {{2, 3}}, "expected ndim=3, found ndim=2");
  expect_call_refusal("Transpose", {{"perm", {0, 0}}}, {{2, 3}}, "every axis once", Code::invalid_argument);
  expect_call_refusal("Transpose", {{"perm", {0}}}, {{2, 3}}, "expected ndim=1, found ndim=2");
  expect_call_refusal("MatMul", Json::object(), {{2, 3}, {2, 3}}, "inner dimensions");
  expect_call_refusal("MatMul", Json::object(), {{2, 3}, {3}}, "input 1 is incompatible");
}

TEST(UnitNormalization, AxesMaskAndRefusals) {
  LayerCall l("UnitNormalization", {{"axis", {1, -1}}});
  Symbol x = l.masked({free_dim, free_dim, 2});
  auto y = l.call({x});
  EXPECT_EQ(y[0].mask, x.mask);
  EXPECT_EQ(l.shape(y[0]), (Shape{free_dim, free_dim, 2}));
  auto got =
      l.run(y, {tensor<float>({2, 2, 2}, {1, 1, 1, 1, 0, 0, 0, 0}), tensor<bool>({2, 2}, {true, true, true, true})});
  EXPECT_EQ(values(got[0]), (std::vector<double>{0.5, 0.5, 0.5, 0.5, 0, 0, 0, 0}));
  expect_config_refusal("UnitNormalization", {{"axis", Json::array()}}, Code::invalid_argument,
                        "\"axis\": expected at least one axis");
  expect_config_refusal("UnitNormalization", {{"axis", 0.5}}, Code::invalid_argument, "\"axis\": expected an integer");
  expect_call_refusal("UnitNormalization", {{"axis", 2}}, {{2, 3}}, "axis 2 is out of range for rank 2",
                      Code::invalid_argument);
  expect_call_refusal("UnitNormalization", {{"axis", {1, -1}}}, {{2, 3}}, "an axis is given twice",
                      Code::invalid_argument);
  expect_call_refusal("UnitNormalization", Json::object(), {{2, 3}}, "expected dtype=float32, found dtype=int64",
                      Code::invalid_argument, DType::i64);
}

TEST(Masks, DroppedByLayersThatMoveSteps) {
  struct Case {
    const char *kind;
    Json config;
    Shape shape;
  };
  for (const Case &c :
       {Case{"Flatten", Json::object(), {2, 3, 4}}, Case{"Reshape", {{"target_shape", {12}}}, {2, 3, 4}},
        Case{"Permute", {{"dims", {2, 1}}}, {2, 3, 4}}, Case{"Transpose", Json::object(), {2, 3, 4}},
        Case{"Conv1D", {{"filters", 2}, {"kernel_size", 2}}, {2, 3, 4}},
        Case{"Conv2D", {{"filters", 2}, {"kernel_size", 2}}, {2, 3, 4, 1}},
        Case{"MaxPooling2D", Json::object(), {2, 4, 4, 1}}, Case{"GlobalMaxPooling1D", Json::object(), {2, 3, 4}},
        Case{"GlobalAveragePooling2D", Json::object(), {2, 3, 4, 1}},
        Case{"GlobalAveragePooling1D", Json::object(), {2, 3, 4}}}) {
    LayerCall l(c.kind, c.config);
    EXPECT_EQ(l.call({l.masked(c.shape)})[0].mask, ops::none) << c.kind;
  }
  LayerCall product("MatMul");
  EXPECT_EQ(product.call({product.masked({2, 3, 4}), product.masked({2, 4, 3})})[0].mask, ops::none);
}

TEST(Conv, Refusals) {
  Json two{{"filters", 4}, {"kernel_size", 3}};
  auto with = [&](const char *key, const Json &v) {
    Json j = two;
    j[key] = v;
    return j;
  };
  expect_config_refusal("Conv2D", with("groups", 3), Code::invalid_argument, "divisible by the number of groups");
  expect_config_refusal("Conv2D", with("padding", "causal"), Code::invalid_argument, "\"padding\": expected one of");
  expect_config_refusal("Conv2D", with("data_format", "first"), Code::invalid_argument, "channels_last");
  expect_config_refusal("Conv2D", with("kernel_size", {3, 0}), Code::invalid_argument,
                        "\"kernel_size\": expected at least 1");
  expect_config_refusal("Conv2D", with("kernel_size", {3, 3, 3}), Code::invalid_argument, "an integer or 2 integers");
  for (const char *kind : {"Conv1D", "Conv2D"}) {
    Json both = with("strides", 2);
    both["dilation_rate"] = 2;
    expect_config_refusal(kind, both, Code::invalid_argument, "not supported together with dilation_rate > 1");
  }
  expect_call_refusal("Conv2D", two, {{1, 8, 8}}, "expected ndim=4, found ndim=3");
  expect_call_refusal("Conv2D", two, {{1, 8, 8, free_dim}}, "should be known");
  expect_call_refusal("Conv2D", with("groups", 2), {{1, 8, 8, 3}}, "but the input has 3 channels");
  expect_call_refusal("Conv2D", two, {{1, 2, 8, 1}}, "does not fit in 2");
}

TEST(Conv, WeightsAndShapes) {
  LayerCall two("Conv2D", {{"filters", 4}, {"kernel_size", {3, 2}}, {"groups", 2}, {"strides", 2}});
  EXPECT_EQ(two.shape(two.call({two.input({free_dim, 9, 8, 6})})[0]), (Shape{free_dim, 4, 4, 4}));
  EXPECT_EQ(two.specs[0].shape, (Shape{3, 2, 3, 4}));
  LayerCall one("Conv1D", {{"filters", 4}, {"kernel_size", 3}, {"padding", "causal"}});
  EXPECT_EQ(one.shape(one.call({one.input({free_dim, free_dim, 6})})[0]), (Shape{free_dim, free_dim, 4}));
  EXPECT_EQ(one.specs[0].shape, (Shape{3, 6, 4}));
  EXPECT_EQ(one.layer->config()["kernel_size"], Json::array({3}));
  // Ones as weights: a causal step sums itself, two steps before and the bias.
  LayerCall causal("Conv1D", {{"filters", 1}, {"kernel_size", 3}, {"padding", "causal"}});
  auto y = causal.run(causal.call({causal.input({1, 4, 1})}), {tensor<float>({1, 4, 1}, {1, 2, 3, 4})});
  EXPECT_EQ(values(y[0]), (std::vector<double>{2, 4, 7, 10}));
}

TEST(Pooling, StridesAndRefusals) {
  LayerCall l("MaxPooling2D", {{"pool_size", {3, 2}}});
  EXPECT_EQ(l.layer->config()["strides"], Json::array({3, 2}));
  EXPECT_EQ(l.shape(l.call({l.input({free_dim, 7, 7, 2})})[0]), (Shape{free_dim, 2, 3, 2}));
  expect_config_refusal("AveragePooling2D", Json::object(), Code::invalid_argument, "\"pool_size\" is missing");
  expect_config_refusal("MaxPooling2D", {{"strides", 0}}, Code::invalid_argument, "\"strides\": expected at least 1");
  expect_config_refusal("MaxPooling2D", {{"padding", "full"}}, Code::invalid_argument, "\"padding\": expected one of");
  expect_call_refusal("MaxPooling2D", Json::object(), {{2, 3, 4}}, "expected ndim=4, found ndim=3");
  expect_call_refusal("GlobalMaxPooling2D", Json::object(), {{2, 3, 4}}, "expected ndim=4, found ndim=3");
  LayerCall kept("GlobalMaxPooling2D", {{"keepdims", true}});
  EXPECT_EQ(kept.shape(kept.call({kept.input({free_dim, 7, 7, 2})})[0]), (Shape{free_dim, 1, 1, 2}));
}

TEST(Pooling, AverageOverValidSteps) {
  for (bool keepdims : {false, true}) {
    LayerCall l("GlobalAveragePooling1D", {{"keepdims", keepdims}});
    auto y = l.call({l.masked({3, 3, 1})});
    EXPECT_EQ(l.shape(y[0]), keepdims ? (Shape{3, 1, 1}) : (Shape{3, 1}));
    auto got = l.run(y, {naive({3, 3, 1}, [](const auto &i) { return i[1] == 1 ? nan : i[0] + 2.0 * double(i[1]); }),
                         naive(DType::boolean, {3, 3}, [](const auto &i) { return i[0] < 2 && i[1] != 1; })});
    EXPECT_EQ(values(got[0]), (std::vector<double>{2, 3, 0}));
  }
}

TEST(Embedding, MasksAndRefusals) {
  LayerCall l("Embedding", {{"input_dim", 4}, {"output_dim", 2}, {"mask_zero", true}});
  for (DType t : {DType::i32, DType::i64, DType::f32, DType::u8}) {
    auto y = l.call({l.input({free_dim, free_dim}, t)});
    EXPECT_EQ(l.shape(y[0]), (Shape{free_dim, free_dim, 2}));
    EXPECT_EQ(l.program[y[0].mask].dtype, DType::boolean);
  }
  LayerCall plain("Embedding", {{"input_dim", 4}, {"output_dim", 2}});
  EXPECT_EQ(plain.call({plain.input({2, 3}, DType::i32)})[0].mask, ops::none);
  expect_refusal(Code::invalid_argument, "ids: expected integers or whole float32 numbers, got bool", [&] {
    plain.call({plain.input({2, 3}, DType::boolean)});
  });
  expect_config_refusal("Embedding", {{"input_dim", 0}, {"output_dim", 2}}, Code::invalid_argument, "at least 1");
  expect_config_refusal("Embedding", {{"input_dim", int64_t{1} << 40}, {"output_dim", 2}}, Code::invalid_argument,
                        "\"input_dim\": expected at most");
}

TEST(Masking, AStepIsMaskedWhereAllFeaturesEqualTheValue) {
  LayerCall l("Masking", {{"mask_value", 7.0}});
  auto y = l.call({l.input({1, 3, 2})});
  auto got = l.run({y[0], {y[0].mask}}, {tensor<float>({1, 3, 2}, {7, 7, 7, 1, NAN, 7})});
  EXPECT_EQ(values(got[1]), (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(got[0].as<float>()[0], 0);
  EXPECT_EQ(got[0].as<float>()[2], 7);
  expect_call_refusal("Masking", Json::object(), {{2}}, "expected min_ndim=2");
}

TEST(Call, RefusesArgumentsThatDoNotFit) {
  LayerCall l("GlobalAveragePooling1D");
  Arguments wrong_mask;
  wrong_mask.symbols["mask"] = {l.input({2, 5}, DType::boolean)};
  expect_refusal(Code::shape_mismatch, "\"mask\": expected the first axes of input 0", [&] {
    l.call({l.input({2, 4, 3})}, wrong_mask);
  });
  LayerCall d("Dropout", {{"rate", 0.5}});
  Arguments wrong_flag;
  wrong_flag.plain["training"] = 2;
  expect_refusal(Code::invalid_argument, "\"training\": expected true or false, got 2", [&] {
    d.call({d.input({2, 3})}, wrong_flag);
  });
  ASSERT_EQ(l.layer->facts().arguments.size(), 1u);
  EXPECT_STREQ(l.layer->facts().arguments[0].name, "mask");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
