// Kernels that copy rectangles of bytes: concat, slice, pack, padding and plain copies.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/dispatch/site.hpp"
#include "backend/cpu/kernels/movement/blocks.hpp"

namespace dl4::dispatch {

// Blocks must not overlap. Blocks whose source or destination is absent, or which are already in place, are skipped.
std::unique_ptr<kernels::Kernel> move_blocks(std::string name, const Site &site, std::vector<kernels::Block> blocks);

// Copies source 0 to the destination unless they share memory.
std::unique_ptr<kernels::Kernel> copy_kernel(const Site &site);

}  // namespace dl4::dispatch
