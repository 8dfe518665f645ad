// What the core asks of a backend: kernels for ops, and arithmetic that is no op.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/dispatch/choose.hpp"
#include "backend/cpu/dispatch/site.hpp"
#include "backend/cpu/kernels/elementwise/random.hpp"
#include "backend/cpu/kernels/gemm/qr.hpp"
#include "backend/cpu/kernels/movement/movement.hpp"
#include "backend/cpu/kernels/rows/rows.hpp"
#include "backend/cpu/kernels/single_threaded.hpp"
#include "ops/op.hpp"

namespace dl4::backend {

// The best kernel of the op for the site. Refuses an op that this backend does not know.
std::unique_ptr<kernels::Kernel> make_kernel(const ops::Op &op, const dispatch::Site &site);

// A library that computes beside the backend's own kernels.
struct Library {
  std::string name, description;
  std::string unused;  // why no kernel of it is used: "for ..."; "" where they may be
};
std::vector<Library> libraries();
// Their scopes for making kernels.
std::vector<std::shared_ptr<void>> while_making();

bool has_bfloat16_tiles() noexcept;

}  // namespace dl4::backend
