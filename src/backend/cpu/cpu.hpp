// The CPU as a backend: a kernel for each op.
#pragma once

#include <memory>

#include "backend/cpu/dispatch/site.hpp"
#include "ops/op.hpp"

namespace dl4::cpu {

// The best kernel of the op for the site. Refuses an op that this backend does not know.
std::unique_ptr<kernels::Kernel> make_kernel(const ops::Op &op, const dispatch::Site &site);

}  // namespace dl4::cpu
