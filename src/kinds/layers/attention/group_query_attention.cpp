// GroupQueryAttention: several query heads share a head of keys and values.
#include "kinds/layers/attention/headed_attention.hpp"

namespace dl4::kinds {
namespace {

struct GroupQueryAttention : HeadedAttention {
  static constexpr const char *name = "GroupQueryAttention";
  static constexpr const char *aliases[] = {"GroupedQueryAttention"};
  static constexpr const char *doc =
      "Attention in heads, of which several share their projections of key and value: "
      "softmax(query key^T / sqrt(head_dim)) value. Inputs are query, value and, if it is not the value, key.";
  int64_t head_dim = 0, num_query_heads = 0, num_key_value_heads = 0;

  void fields(Fields &f) override {
    f("head_dim", head_dim).required("3").at_least(1).at_most(max_dim).doc("size of each head");
    f("num_query_heads", num_query_heads).required("4").at_least(1).at_most(max_dim).doc("number of heads");
    f("num_key_value_heads", num_key_value_heads)
        .required("2")
        .at_least(1)
        .at_most(max_dim)
        .doc("number of different keys and values; divides num_query_heads");
    headed_fields(f);
  }
  Facts facts() const override {
    return headed_facts("(K, num_key_value_heads, head_dim)", "(V, num_key_value_heads, head_dim)");
  }
  void check() override {
    HeadedAttention::check();
    if (num_query_heads % num_key_value_heads != 0)
      throw Error(Code::invalid_argument, text("\"num_query_heads\": expected a multiple of num_key_value_heads, ",
                                               num_key_value_heads, ", got ", num_query_heads))
          .with("attribute", "num_query_heads");
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 3);
    std::vector<Symbol> y = HeadedAttention::call(c);
    for (const Symbol &s : y) c.penalize(weights.activity_regularizer, s.value);  // penalized twice, like Keras
    return y;
  }

 protected:
  Sizes sizes() const override { return {num_query_heads, num_key_value_heads, head_dim, head_dim}; }
  std::vector<int> attended(const Call &) const override { return {1}; }
  Shape output(const Call &c) const override { return {c.last_dim(0)}; }
};

}  // namespace
DL4_KIND(GroupQueryAttention)
}  // namespace dl4::kinds
