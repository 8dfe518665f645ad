// The one order of axes there is: batch, space or time, channels.
#pragma once

#include "kinds/field.hpp"

namespace dl4::kinds {

struct DataFormat {
  enum class Order { channels_last, channels_first } order = Order::channels_last;

  void fields(Fields &f) {
    f("data_format", order, {"channels_last", "channels_first"})
        .default_only()
        .doc("order of the axes; only \"channels_last\" is supported");
  }
};

}  // namespace dl4::kinds
