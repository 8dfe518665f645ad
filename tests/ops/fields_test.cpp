// What follows from an op's list of attributes: equality, hash and listing.
#include "ops/fields.hpp"
#include "ops/op.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/conv.hpp"
#include "ops/matched.hpp"
#include "ops/update.hpp"

namespace dl4::ops::DL4_FILE {
namespace {

TEST(Fields, AreListed) {
  EXPECT_EQ(to_string(SoftmaxOp(false, 1).attributes()), "axis=1");
  EXPECT_EQ(to_string(SoftmaxOp(true, 1).attributes()), "log, axis=1");
  EXPECT_EQ(to_string(UnaryOp({Unary::tanh}).attributes()), "tanh");
  EXPECT_EQ(to_string(UnaryOp({Unary::elu, {0.1f, 7}}).attributes()), "elu(0.1)");
  EXPECT_EQ(to_string(MatMulOp({}, {}).attributes()), "");
  EXPECT_EQ(to_string(MatMulOp({.transpose_b = true}, {true, Function{Unary::relu}}).attributes()),
            "transpose_b, bias, relu");
  EXPECT_EQ(to_string(ConvOp({}, {}).attributes()), "strides=(1, 1), dilation=(1, 1), padding=valid, groups=1");
  EXPECT_EQ(to_string(PackOp({0, 5}, 9, 4).attributes()), "offsets=(0, 5), total=9, element_bytes=4");
  EXPECT_EQ(to_string(UpdateOf<ops::Sgd>({}, {}, {{3, 9, 2, 3}}).attributes()),
            "momentum=0, weight_decay=0, rows=(3+2x3)");
}

TEST(Fields, AreNumbersToo) {
  const std::vector<Attribute> pack = PackOp({0, 5}, 9, 4).attributes(), softmax = SoftmaxOp(true, 1).attributes();
  ASSERT_EQ(pack.size(), 3u);
  EXPECT_EQ(pack[0].name, "offsets");
  EXPECT_EQ(pack[0].integers, (std::vector<int64_t>{0, 5}));
  EXPECT_EQ(pack[1].integers, std::vector<int64_t>{9});
  EXPECT_EQ(pack[1].real, 9);
  ASSERT_EQ(softmax.size(), 2u);
  EXPECT_EQ(softmax[0].name, "log");
  EXPECT_EQ(softmax[0].shown, "");
}

TEST(Fields, TellOpsApart) {
  const Op &relu = UnaryOp({Unary::relu}), &again = UnaryOp({Unary::relu});
  EXPECT_TRUE(equal(relu, again));
  EXPECT_EQ(hash(relu), hash(again));
  EXPECT_FALSE(equal(relu, UnaryOp({Unary::tanh})));
  EXPECT_FALSE(equal(SoftmaxOp(true, 1), SoftmaxOp(false, 1)));
  EXPECT_FALSE(equal(MatMulOp({}, {}), ConvOp({}, {})));
  EXPECT_FALSE(equal(MatMulOp({}, {}), MatMulOp({}, {false, Function{}})));
  EXPECT_FALSE(equal(PackOp({0, 5}, 9, 4), PackOp({0}, 5, 4)));
  EXPECT_FALSE(equal(UpdateOf<ops::Sgd>({}, {}, {{3, 9, 2, 3}}), UpdateOf<ops::Sgd>({}, {}, {{3, 9, 3, 2}})));
}

TEST(Fields, AreComparedToTheLastBit) {
  auto clip = [](float low) { return UnaryOp({Unary::clip, {low, 1}}); };
  EXPECT_FALSE(equal(clip(0.0f), clip(-0.0f)));
  EXPECT_FALSE(equal(clip(0.1f), clip(std::nextafter(0.1f, 1.0f))));
  EXPECT_TRUE(equal(clip(NAN), clip(NAN)));
  EXPECT_TRUE(equal(UnaryOp({Unary::relu, {1}}), UnaryOp({Unary::relu, {2}}))) << "relu has no parameter";
}

TEST(Fields, AreMatchedByType) {
  const SoftmaxOp softmax(true, 2);
  const Op &op = softmax;
  ASSERT_EQ(as<SoftmaxOp>(op), &softmax);
  EXPECT_EQ(as<PackOp>(op), nullptr);
}

}  // namespace
}  // namespace dl4::ops::DL4_FILE
