// float32 kernels with rounded operands.
#include <algorithm>
#include <array>

#include "backend/cpu/dispatch/sliced.hpp"
#include "backend/cpu/kernels/gemm/bf16_gemm.hpp"

namespace dl4::dispatch {
namespace {

class Rounded final : public kernels::Kernel {
 public:
  Rounded(std::unique_ptr<Kernel> inner, const Site &site)
      : Kernel("rounded_" + inner->name, inner->slices,
               checked_add(start_of(*inner), checked_mul(checked_add(room(site, 0), room(site, 1)), 4)),
               inner->phases + 1),
        inner_(std::move(inner)),
        count_{site.src[0].shape.elements(), site.src[1].shape.elements()},
        destinations_(static_cast<int>(site.dst.size())) {}
  std::unique_ptr<kernels::Bound> bind() const override { return inner_->bind(); }
  void run(int64_t slice, const Run &r) const noexcept override {
    auto *const room = reinterpret_cast<float *>(static_cast<std::byte *>(r.scratch) + start_of(*inner_));
    float *const copies[2] = {room, room + round_up(count_[0], 16)};
    if (slice < slices) {
      for (int i = 0; i < 2; ++i) {
        const auto [begin, end] = kernels::part(count_[i], slices, slice, line_block);
        if (begin < end) kernels::round_to_bfloat16(r.in<float>(i) + begin, copies[i] + begin, end - begin);
      }
      return;
    }
    std::array<void *, 8> args;
    std::copy_n(r.args, r.sources + destinations_, args.begin());
    args[0] = copies[0], args[1] = copies[1];
    inner_->run(slice - slices, {args.data(), r.sources, r.scratch, r.bound, r.report});
  }

 private:
  static int64_t start_of(const Kernel &inner) { return round_up(inner.scratch, 64); }
  static int64_t room(const Site &site, size_t i) { return round_up(site.src[i].shape.elements(), 16); }

  const std::unique_ptr<Kernel> inner_;
  const int64_t count_[2];
  const int destinations_;
};

}  // namespace

std::unique_ptr<kernels::Kernel> with_rounded(const Site &site, std::unique_ptr<kernels::Kernel> inner) {
  if (inner->slices == 0) return inner;
  return std::make_unique<Rounded>(std::move(inner), site);
}

}  // namespace dl4::dispatch
