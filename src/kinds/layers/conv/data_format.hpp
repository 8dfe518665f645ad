// Order of axes. Ops use batch, space or time, channels; layers convert other orders at their inputs and outputs.
#pragma once

#include <numeric>

#include "kinds/layer.hpp"

namespace dl4::kinds {

// Words of layers for sequences, images or volumes, by their number of spatial axes.
template <size_t N>
constexpr const char *by_axes(const char *one, const char *two, const char *three = nullptr) {
  return N == 1 ? one : N == 2 ? two : three;
}

struct DataFormat {
  enum class Order { channels_last, channels_first } order = Order::channels_last;

  void fields(Fields &f) {
    f("data_format", order, {"channels_last", "channels_first"},
      "order of the axes: \"channels_last\", or \"channels_first\": the channels stand behind the batch")
        .null_means(Order::channels_last);
  }
  bool is_first() const { return order == Order::channels_first; }
  // Axis of the channels, and of spatial axis i, for a value of this rank.
  int channels(int rank) const { return is_first() ? 1 : rank - 1; }
  int space(int i) const { return is_first() ? i + 2 : i + 1; }

  // x in channels-last order.
  ops::Id to_last(ops::Emit &e, ops::Id x) const {
    std::vector<int> perm(static_cast<size_t>(e.rank(x)));
    std::iota(perm.begin(), perm.end(), 0);
    std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
    return is_first() ? ops::transpose(e, x, perm) : x;
  }
  // y from channels-last order to the layer's.
  ops::Id from_last(ops::Emit &e, ops::Id y) const {
    std::vector<int> perm(static_cast<size_t>(e.rank(y)));
    std::iota(perm.begin(), perm.end(), 0);
    std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
    return is_first() ? ops::transpose(e, y, perm) : y;
  }
  Shape to_last(const Shape &x) const { return is_first() ? x.without(1).inserted(x.rank() - 1, x[1]) : x; }
  Shape from_last(const Shape &y) const { return is_first() ? y.without(y.rank() - 1).inserted(1, y.last()) : y; }
};

}  // namespace dl4::kinds
