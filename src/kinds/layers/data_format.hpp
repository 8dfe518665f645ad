// The one order of axes there is: batch, space or time, channels.
#pragma once

#include "kinds/field.hpp"

namespace dl4::kinds {

template <class T>
auto data_format_field() {
  return field<T, std::string>("data_format", &T::data_format)
      .otherwise("channels_last")
      .one_of({"channels_last", "channels_first"})
      .doc("order of the axes; only \"channels_last\" is supported");
}

inline void need_channels_last(const std::string &data_format) {
  if (data_format != "channels_last")
    throw Error(Code::unsupported, "\"data_format\": only \"channels_last\" is supported, got \"" + data_format + '"')
        .with("attribute", "data_format");
}

}  // namespace dl4::kinds
