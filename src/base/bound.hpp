// What a run in flight owns for a step besides its buffers, such as a library's memory objects.
#pragma once

namespace dl4 {

struct Bound {
  virtual ~Bound() = default;
};

}  // namespace dl4
