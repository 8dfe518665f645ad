// Kernels that call functions of the host.
#include "backend/cpu/dispatch/blocks.hpp"
#include "backend/cpu/families.hpp"

namespace dl4::cpu {
namespace {

// One slice, so that the host's function runs on the calling thread.
class CustomKernel final : public kernels::Kernel {
 public:
  CustomKernel(std::shared_ptr<const ops::CustomFunction> f, bool backward, std::vector<Operand> src,
               std::vector<Operand> dst)
      : Kernel("custom", 1), f_(std::move(f)), backward_(backward), src_(std::move(src)), dst_(std::move(dst)) {}

  std::unique_ptr<kernels::Bound> bind() const override {
    return backward_ ? f_->bind_backward(src_, dst_) : f_->bind_forward(src_, dst_);
  }
  bool calls_host() const override { return true; }
  void run(int64_t, const Run &r) const override {
    const int32_t answer = backward_ ? f_->backward(r.args, *r.bound) : f_->forward(r.args, *r.bound);
    if (answer != 0) r.report->raise(kernels::Fault::callback, answer);
  }

 private:
  const std::shared_ptr<const ops::CustomFunction> f_;
  const bool backward_;
  const std::vector<Operand> src_, dst_;
};

std::unique_ptr<Kernel> all_reduce(const attributes::AllReduce &op, const Site &site) {
  if (!op.workers) return dispatch::copy_kernel(site);
  struct Sum final : kernels::Kernel {
    Sum(std::shared_ptr<ops::Collective> f, int64_t n) : Kernel("all_reduce", 1), f(std::move(f)), n(n) {}
    bool calls_host() const override { return true; }
    void run(int64_t, const Run &r) const override {
      if (const int32_t answer = f->sum(r.in<float>(0), r.out<float>(0), n))
        r.report->raise(kernels::Fault::callback, answer);
    }
    const std::shared_ptr<ops::Collective> f;
    const int64_t n;
  };
  return std::make_unique<Sum>(op.workers, site.src[0].shape.elements());
}

std::unique_ptr<Kernel> custom(const attributes::Custom &op, const Site &site) {
  return std::make_unique<CustomKernel>(op.f, false, std::vector<Operand>(site.src.begin(), site.src.end()),
                                        std::vector<Operand>(site.dst.begin(), site.dst.end()));
}

std::unique_ptr<Kernel> custom_grad(const attributes::CustomGrad &op, const Site &site) {
  const auto at = site.src.begin() + static_cast<ptrdiff_t>(op.n_src);
  const auto n_dst = static_cast<ptrdiff_t>(site.src.size() - op.n_src) / 2;
  return std::make_unique<CustomKernel>(op.f, true, std::vector<Operand>(site.src.begin(), at),
                                        std::vector<Operand>(at, at + n_dst));
}

}  // namespace

std::span<const Row> host_kernels() {
  static const Row rows[] = {
      row<attributes::AllReduce, all_reduce>(),
      row<attributes::Custom, custom>(),
      row<attributes::CustomGrad, custom_grad>(),
  };
  return rows;
}

}  // namespace dl4::cpu
