// Cutting, constants and switched-off kernels of a site.
#include "backend/cpu/dispatch/site.hpp"

#include <algorithm>
#include <cstring>

namespace dl4::dispatch {

kernels::PackedForms &Packs::of(const std::string &key) {
  std::lock_guard lock(mutex_);
  return forms_[key];
}

int64_t Packs::bytes() const {
  std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (const auto &[key, forms] : forms_) sum = checked_add(sum, forms.bytes());
  return sum;
}

double work_microseconds(double flops, double bytes) { return std::max(flops / 60e3, bytes / 20e3); }

int64_t Cutting::slices(int64_t parts, double microseconds) const {
  // Strictly, what is cut is cut on one thread too.
  const auto worth = static_cast<int64_t>(std::min(microseconds / (strict ? 2 * least : least), 1e6));
  return std::max<int64_t>(parts > 0 ? 1 : 0, std::min({parts, worth, most()}));
}

int64_t Cutting::short_slices(int64_t parts, double microseconds) const {
  constexpr double longest = 4e4, most = 1e3;
  return std::max(slices(parts, microseconds),
                  std::min(parts, static_cast<int64_t>(std::min(microseconds / longest, most))));
}

bool Site::allows(std::string_view kernel) const { return std::find(off.begin(), off.end(), kernel) == off.end(); }

std::optional<kernels::Constant> Site::constant_source(size_t i) const {
  if (i >= constant.size() || !constant[i]) return {};
  kernels::Constant c{constant[i]->as<float>()};
  if (packs && i < constant_key.size() && !constant_key[i].empty()) c.forms = &packs->of(constant_key[i]);
  return c;
}

Site site(const ops::Program &p, const ops::Step &step) {
  Site s;
  s.src = ops::operands(p, step.src);
  s.dst = ops::operands(p, step.dst);
  s.constant.resize(step.src.size());
  s.constant_key.resize(step.src.size());
  return s;
}

std::unique_ptr<kernels::Kernel> nothing() {
  return kernels::make_kernel("nothing", 0, [](int64_t, const kernels::Run &) noexcept {});
}

std::unique_ptr<kernels::Kernel> zeros(const Site &site) {
  std::vector<size_t> bytes;
  for (const Operand &o : site.dst) bytes.push_back(static_cast<size_t>(checked_mul(o.shape.elements(), 4)));
  return kernels::make_kernel("zeros", 1, [bytes](int64_t, const kernels::Run &r) noexcept {
    for (size_t i = 0; i < bytes.size(); ++i)
      if (void *p = r.out<void>(static_cast<int>(i)); p && bytes[i]) std::memset(p, 0, bytes[i]);
  });
}

}  // namespace dl4::dispatch
