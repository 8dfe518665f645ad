// What one run in flight owns for a step besides its buffers, such as memory objects of a library.
#pragma once

namespace dl4 {

struct Bound {
  virtual ~Bound() = default;
};

}  // namespace dl4
