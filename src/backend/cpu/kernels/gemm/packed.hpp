// Constant weights in the layouts that kernels like best, packed once and shared by every plan that uses them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/fork.hpp"
#include "base/tensor.hpp"

namespace dl4::kernels {

// Immutable. Only the kernel that made it knows what is inside.
struct Packed {
  virtual ~Packed() = default;
  int64_t bytes = 0;
};

struct PackedFloats : Packed {
  explicit PackedFloats(int64_t floats) : data(make_tensor(DType::f32, {floats})) { bytes = data.bytes(); }
  float *floats() const { return data.as<float>(); }
  Tensor data;
};

// The packed forms of one weight that are in use. A form is dropped together with the last kernel that holds it.
class PackedForms {
 public:
  using Make = std::function<std::shared_ptr<const Packed>()>;
  // The form called `format`; made by `make` if no one holds it. Any number of threads may call.
  std::shared_ptr<const Packed> get(const std::string &format, const Make &make);
  int64_t bytes() const;  // of the forms alive

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::weak_ptr<const Packed>> forms_;
};

// A weight whose values never change as long as the kernel lives. A kernel that packs it reads `data` only while it is
// made; one that finds nothing to gain by packing reads its place in Run::args as ever.
struct Constant {
  const float *data;
  PackedForms *forms = nullptr;  // nullptr: packed for this kernel alone

  std::shared_ptr<const Packed> packed(const std::string &format, const PackedForms::Make &make) const {
    return forms ? forms->get(format, make) : make();
  }
};

}  // namespace dl4::kernels
