// MultiHeadAttention and GroupQueryAttention.
#include <algorithm>

#include "kinds/layers/attention/headed_attention.hpp"

namespace dl4::kinds {
namespace {

struct MultiHeadAttention : HeadedAttention {
  static constexpr const char *doc =
      "Attention in heads: each projects query, key and value and gives softmax(query key^T / sqrt(key_dim)) value; "
      "what they give is projected to the output. Inputs are query, value and, if it is not the value, key.";
  int64_t num_heads = 0, key_dim = 0;
  std::optional<int64_t> value_dim;
  std::optional<std::vector<int64_t>> output_shape, attention_axes;

  void fields(Fields &f) override {
    f("num_heads", num_heads).required("2").at_least(1).at_most(max_dim).doc("number of heads");
    f("key_dim", key_dim).required("3").at_least(1).at_most(max_dim).doc("size of each head's query and key");
    f("value_dim", value_dim).at_least(1).at_most(max_dim).doc("size of each head's value; null = key_dim");
    f("output_shape", output_shape)
        .at_least(1)
        .at_most(max_dim)
        .doc("the output's axes after those of time: a number or a list; null = the query's last");
    f("attention_axes", attention_axes)
        .doc("the axes that are attended over, a number or a list; null = all but the first and the last");
    headed_fields(f);
  }
  Facts facts() const override {
    Facts facts = headed_facts("(K, num_heads, key_dim)", "(V, num_heads, value_dim)");
    facts.taken_off = {true, true, true};
    return facts;
  }

 protected:
  Sizes sizes() const override { return {num_heads, num_heads, key_dim, value_dim.value_or(key_dim)}; }

  std::vector<int> attended(const Call &c) const override {
    const int rank = c.shape(0).rank();
    std::vector<int> axes;
    if (!attention_axes)
      for (int i = 1; i + 1 < rank; ++i) axes.push_back(i);
    else
      for (int64_t a : *attention_axes) {
        const int64_t axis = a < 0 ? a + rank : a;
        if (axis < 1 || axis > rank - 2 || std::find(axes.begin(), axes.end(), axis) != axes.end())
          fail(Code::shape_mismatch, "\"attention_axes\": expected different axes from 1 to ", rank - 2, ", got ", a);
        axes.push_back(static_cast<int>(axis));
      }
    if (axes.empty()) fail(Code::shape_mismatch, "\"attention_axes\": expected at least one axis");
    return axes;
  }
  Shape output(const Call &c) const override {
    if (!output_shape || output_shape->empty()) return {c.last_dim(0)};
    return Shape(*output_shape);
  }
};

struct GroupQueryAttention : HeadedAttention {
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
      refuse_attribute("num_query_heads", "expected a multiple of num_key_value_heads, ", num_key_value_heads, ", got ",
                       num_query_heads);
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
DL4_KINDS(multi_head_attention, MultiHeadAttention, GroupQueryAttention)
}  // namespace dl4::kinds
