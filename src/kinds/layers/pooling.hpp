// What the pooling layers share.
#pragma once

#include "kinds/layer.hpp"
#include "kinds/layers/data_format.hpp"
#include "kinds/layers/facts.hpp"

namespace dl4::kinds {

// Windows over images.
struct Pooling2D : Layer {
  std::array<int64_t, 2> pool_size{};
  std::optional<std::array<int64_t, 2>> strides;
  std::string padding, data_format;

  void check() {
    need_channels_last(data_format);
    if (!strides) strides = pool_size;
  }
  std::vector<Symbol> pooled(Call &c, bool average) const {
    c.need_rank(0, 4);
    c.need_float(0);
    return {{ops::pool(c.e, c.x(),
                       {.average = average,
                        .size = pool_size,
                        .strides = *strides,
                        .padding = padding == "same" ? ops::Padding::same : ops::Padding::valid})}};
  }
  static Json more() { return Facts{.inputs = {{"x", "(B, H, W, C)"}}, .outputs = {{"y", "(B, OH, OW, C)"}}}.json(); }
};

template <class T>
auto pooling_fields(Json default_size) {
  auto size = field<T, std::array<int64_t, 2>>("pool_size", &T::pool_size)
                  .at_least(1)
                  .at_most(max_dim)
                  .doc("size of the window");
  return std::tuple{
      default_size.is_null() ? std::move(size).required() : std::move(size).otherwise(std::move(default_size)),
      field<T, std::optional<std::array<int64_t, 2>>>("strides", &T::strides)
          .otherwise(nullptr)
          .at_least(1)
          .at_most(max_dim)
          .doc("steps of the window; null = its size"),
      field<T, std::string>("padding", &T::padding)
          .otherwise("valid")
          .one_of({"valid", "same"})
          .doc("\"valid\": whole windows only; \"same\": also those that reach over the edge"),
      data_format_field<T>()};
}

// All of time or of an image at once. N: how many axes go.
template <int N>
struct GlobalPooling : Layer {
  std::string data_format;
  bool keepdims = false;

  void check() const { need_channels_last(data_format); }
  std::vector<int> axes() const { return N == 1 ? std::vector<int>{1} : std::vector<int>{1, 2}; }
  std::vector<Symbol> pooled(Call &c, ops::Reduce how) const {
    c.need_rank(0, N + 2);
    c.need_float(0);
    return {{ops::reduce(c.e, how, c.x(), axes(), keepdims)}};
  }
  static Facts facts() {
    return {.inputs = {{"x", N == 1 ? "(B, T, C)" : "(B, H, W, C)"}},
            .outputs = {{"y", N == 1 ? "(B, C), with keepdims (B, 1, C)" : "(B, C), with keepdims (B, 1, 1, C)"}}};
  }
  static Json more() { return facts().json(); }
};

template <class T>
auto global_pooling_fields() {
  return std::tuple{
      data_format_field<T>(),
      field<T, bool>("keepdims", &T::keepdims).otherwise(false).doc("whether the axes stay, with size 1")};
}

}  // namespace dl4::kinds
