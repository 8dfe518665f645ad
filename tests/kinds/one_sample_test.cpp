// Attention of one sample, without an axis of the batch.
#include "layer_call.hpp"

namespace dl4::test::DL4_FILE {
namespace {

// A sample without an axis of the batch gives what it gives as a batch of one, masks included.
TEST(Attentions, OfOneSample) {
  const Tensor query = random({5, 3}, 1), value = random({4, 3}, 2), key = random({4, 3}, 3);
  Tensor query_mask = make_tensor(DType::boolean, {5}), value_mask = make_tensor(DType::boolean, {4});
  for (int64_t i = 0; i < 5; ++i) query_mask.as<uint8_t>()[i] = i != 2;
  for (int64_t i = 0; i < 4; ++i) value_mask.as<uint8_t>()[i] = i != 1;
  auto batched = [](const Tensor &t) { return Tensor{t.dtype, t.shape.inserted(0, 1), t.data}; };
  const std::vector<std::pair<const char *, Json>> kinds = {
      {"Attention", {{"use_scale", true}}},
      {"AdditiveAttention", {}},
      {"GlobalAttention", {{"score", "concat"}, {"distribution", "sparsemax"}}},
      {"LocalAttention", {{"window", 1}}},
      {"LocalAttention", {{"window", 2}, {"alignment", "predictive"}}}};
  for (const auto &[kind, attributes] : kinds)
    for (const bool one : {false, true}) {
      if (one && attributes.contains("window") && !attributes.contains("alignment")) continue;  // a place of its own
      SCOPED_TRACE(std::string(kind) + (one ? ", one query" : ""));
      const Tensor q = one ? Tensor{query.dtype, {3}, query.data} : query;
      Arguments arguments;
      arguments.plain["return_attention_scores"] = true;
      LayerCall alone(kind, attributes), batch(kind, attributes);
      auto in = [&](LayerCall &c, bool with_batch) {
        std::vector<Symbol> all;
        for (const Tensor *t : {&q, &value, &key})
          all.push_back(c.input(with_batch ? t->shape.inserted(0, 1) : t->shape));
        all[1].mask = c.input(with_batch ? Shape{1, 4} : Shape{4}, DType::boolean).value;
        if (!one) all[0].mask = c.input(with_batch ? Shape{1, 5} : Shape{5}, DType::boolean).value;
        return all;
      };
      const bool own_query = one && kind[0] != 'G' && kind[0] != 'L';  // Keras's have no (B, D)
      std::vector<Symbol> inputs = in(batch, true);
      if (own_query) inputs[0].value = ops::expand_dims(batch.e, inputs[0].value, 1);
      const auto expected = batch.call(inputs, arguments), got = alone.call(in(alone, false), arguments);
      std::vector<Tensor> given{q, value, key, value_mask}, whole;
      if (!one) given.push_back(query_mask);
      for (const Tensor &t : given) whole.push_back(batched(t));
      const auto a = alone.run(got, given), b = batch.run(expected, whole);
      ASSERT_EQ(a.size(), 2u);
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(a[i].shape, one ? Shape{i == 0 ? 3 : 4} : (Shape{5, i == 0 ? 3 : 4}));
        ASSERT_EQ(a[i].elements(), b[i].elements());
        for (int64_t k = 0; k < a[i].elements(); ++k) EXPECT_EQ(a[i].as<float>()[k], b[i].as<float>()[k]) << k;
      }
      EXPECT_EQ(got[0].mask == ops::none, one);
    }
  expect_call_refusal("LocalAttention", {{"window", 1}}, {{3}, {4, 3}}, "needs a query with the value's axes");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
