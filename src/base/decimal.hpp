// Decimal numbers as texts, in any locale.
#pragma once

#include <string_view>

namespace dl4 {

// The number (float or double) that `text` is as a whole: digits with a point and an exponent, '-' before them. False,
// with `v` as it was, for other texts and for what is past the type's range or would underflow to 0.
template <class T>
bool read_decimal(std::string_view text, T &v);

}  // namespace dl4
