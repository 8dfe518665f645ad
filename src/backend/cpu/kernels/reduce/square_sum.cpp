// Sum of squares with one partial sum per slice.
#include "backend/cpu/kernels/reduce/square_sum.hpp"

#include "base/checked.hpp"
#include "backend/cpu/kernels/reduce/reduce.hpp"

namespace dl4::kernels {
namespace {

// Each slice stores its sum in the scratch; the last one to finish adds them in slice order.
class SquareSum final : public Kernel {
 public:
  SquareSum(int64_t n, int64_t slices, int64_t block)
      : Kernel("square_sum", slices, checked_mul(slices, sizeof(double))), n_(n), block_(block) {}

  std::unique_ptr<Bound> bind() const override { return std::make_unique<Done>(); }

  void run(int64_t slice, const Run &r) const noexcept override {
    auto [begin, end] = part(n_, slices, slice, block_);
    auto *sums = static_cast<double *>(r.scratch);
    sums[slice] = sum_squares(r.in<float>(0) + begin, end - begin);
    auto *done = static_cast<Done *>(r.bound);
    if (slices > 1 && done->slices.fetch_add(1, std::memory_order_acq_rel) + 1 < slices) return;
    done->slices.store(0, std::memory_order_relaxed);
    double total = 0;
    for (int64_t i = 0; i < slices; ++i) total += sums[i];
    *r.out<float>(0) = static_cast<float>(total);
  }

 private:
  struct Done final : Bound {
    std::atomic<int64_t> slices{0};
  };
  int64_t n_, block_;
};

}  // namespace

std::unique_ptr<Kernel> square_sum(int64_t n, int64_t slices, int64_t block) {
  return std::make_unique<SquareSum>(n, slices, block);
}

}  // namespace dl4::kernels
