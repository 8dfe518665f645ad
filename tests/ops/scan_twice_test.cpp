// What a scan carries from step to step has a gradient, and that gradient none: it is refused, never left out.
#include <gtest/gtest.h>

#include "ops/differentiate.hpp"
#include "ops/ops.hpp"
#include "ops/scan.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

// h' = h * h + x: of the sum of all h, the gradient by x.
std::vector<Id> gradient(Emit &e, Id x, Id h0) {
  Scan s(e);
  const Id step = s.each(x, false), h = s.state(h0);
  s.become(h, add(s.body, mul(s.body, h, h), step));
  const Id all = reduce(e, Reduce::sum, s.emit().states[0], {});
  return differentiate(e, std::vector<Cotangent>{{all, e.scalar(1)}}, std::vector<Id>{x});
}

TEST(Scan, ItsGradientHasNone) {
  Program p;
  Emit e(p);
  const Id x = e.input("x", DType::f32, {3, 2}), h = e.input("h", DType::f32, {2});
  const Id once = gradient(e, x, h)[0];
  ASSERT_NE(once, none);
  const Id sum = reduce(e, Reduce::sum, once, {});
  try {
    differentiate(e, std::vector<Cotangent>{{sum, e.scalar(1)}}, std::vector<Id>{x});
    FAIL() << "not refused";
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Code::unsupported);
    EXPECT_NE(error.message.find("delay has no gradient by its source 0"), std::string::npos) << error.message;
  }
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
