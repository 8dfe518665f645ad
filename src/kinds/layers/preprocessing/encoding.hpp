// How layers of categories give their indices: as they are, or as vectors.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <variant>

#include "kinds/layer.hpp"
#include "ops/text.hpp"

namespace dl4::kinds {

// The last two are old words for those before.
enum class OutputMode { integer, one_hot, multi_hot, count, tf_idf, binary, old_tf_idf };
OutputMode without_old(OutputMode mode);

// keras.src.utils.numerical_utils.encode_categorical_inputs: indices int64 as numbers of that type, or vectors of
// `depth`. weights: of count.
ops::Id encoded(ops::Emit &e, ops::Id indices, OutputMode mode, int64_t depth, DType dtype,
                ops::Id weights = ops::none);

// Keras's `salt`: two integers, or one for both.
struct Salt {
  std::optional<std::array<int64_t, 2>> key{};
  std::optional<std::array<uint64_t, 2>> words() const;
};
// A text or an integer, or neither.
using TextOrInteger = std::variant<std::monostate, std::string, int64_t>;
// The type of a result, by its name or Keras's policy of that name; none: as the layer has it.
struct ResultType {
  std::optional<DType> dtype{};
};

// Refuses sparse = true, which is Keras's on TensorFlow alone.
inline constexpr const char *sparse_doc = "only false: there are no sparse tensors";

template <>
const Conversion &conversion<Salt>();
template <>
const Conversion &conversion<TextOrInteger>();
template <>
const Conversion &conversion<ResultType>();

}  // namespace dl4::kinds
