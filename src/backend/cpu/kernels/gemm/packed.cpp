// Cache of packed weights.
#include "backend/cpu/kernels/gemm/packed.hpp"

#include "backend/cpu/kernels/gemm/packed_gemm.hpp"

namespace dl4::kernels {

std::shared_ptr<const Packed> PackedForms::get(const std::string &format, const Make &make) {
  std::lock_guard lock(mutex_);
  auto &place = forms_[format];
  auto form = place.lock();
  if (!form) place = form = make();
  return form;
}

int64_t PackedForms::bytes() const {
  std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (auto &[format, place] : forms_)
    if (auto form = place.lock()) sum += form->bytes;
  return sum;
}

std::shared_ptr<const PackedFloats> packed_panels(const Constant &b, int64_t k, int64_t n, int64_t ldb,
                                                  bool transposed) {
  auto form = b.packed(text("panels ", k, 'x', n, ' ', ldb, transposed ? " transposed" : ""), [&] {
    auto panels = std::make_shared<const PackedFloats>(packed_floats(k, n));
    pack_b(k, n, b.data, ldb, transposed, panels->floats());
    return panels;
  });
  return std::static_pointer_cast<const PackedFloats>(form);
}

}  // namespace dl4::kernels
