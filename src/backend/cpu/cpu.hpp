// The CPU backend: a kernel for each op.
#pragma once

#include <memory>

#include "backend/cpu/dispatch/site.hpp"
#include "ops/op.hpp"

namespace dl4::cpu {

// The best kernel for the op at the site. Refuses ops unknown to this backend.
std::unique_ptr<kernels::Kernel> make_kernel(const ops::Op &op, const dispatch::Site &site);

}  // namespace dl4::cpu
