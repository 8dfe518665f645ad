// Constant weights in kernels' preferred layouts, packed once and shared by all plans that use them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/fork.hpp"
#include "base/tensor.hpp"

namespace dl4::kernels {

// Immutable; its content is known only to the kernel that made it.
struct Packed {
  virtual ~Packed() = default;
  int64_t bytes = 0;
};

struct PackedFloats : Packed {
  explicit PackedFloats(int64_t floats) : data(make_tensor(DType::f32, {floats})) { bytes = data.bytes(); }
  float *floats() const { return data.as<float>(); }
  Tensor data;
};

// The packed forms of one weight that are in use. A form is freed with the last kernel that holds it.
class PackedForms {
 public:
  using Make = std::function<std::shared_ptr<const Packed>()>;
  // Returns the form called `format`, made by `make` unless someone holds it. Thread-safe.
  std::shared_ptr<const Packed> get(const std::string &format, const Make &make);
  int64_t bytes() const;  // of live forms

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::weak_ptr<const Packed>> forms_;
};

// A weight whose values stay constant during the kernel's life. A kernel that packs it reads `data` only while it is
// made; others read it from Run::args.
struct Constant {
  const float *data;
  PackedForms *forms = nullptr;  // nullptr: packs for this kernel alone

  std::shared_ptr<const Packed> packed(const std::string &format, const PackedForms::Make &make) const {
    return forms ? forms->get(format, make) : make();
  }
};

}  // namespace dl4::kernels
