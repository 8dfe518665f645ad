// Looks up and makes packed weights.
#include "kernels/gemm/packed.hpp"

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

}  // namespace dl4::kernels
