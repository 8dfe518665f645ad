// What a session runs, from its options and its model.
#pragma once

#include "border.hpp"
#include "kinds/field.hpp"

namespace dl4::capi {

struct SessionOptions {
  bool profile = false, training = false, cotangents = false, states = false, streamable = false;
  int64_t cache = 0;
  enum class Full { refuse, slide } cache_full = Full::refuse;
  std::vector<std::string> gradients;
  kernels::WeightType weights = kernels::WeightType::float32;
  void fields(kinds::Fields &f);
};

// How a session runs: the whole Program; the same, with runs that assign weights; in stages, if numbers become sizes;
// as a new stream.
enum class Running { whole, assigning, sized, streamed };

dl4_session *make_session(const dl4_model &model, const SessionOptions &given);

}  // namespace dl4::capi
