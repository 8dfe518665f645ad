// Copies of rectangles of bytes: concat, slice, pack, padding and plain copies are lists of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/dispatch/site.hpp"
#include "backend/cpu/kernels/movement/blocks.hpp"

namespace dl4::dispatch {

// The blocks must not overlap. One whose source or destination is absent, or which already lies in its place, is passed
// over.
std::unique_ptr<kernels::Kernel> move_blocks(std::string name, const Site &site, std::vector<kernels::Block> blocks);

// The whole of source 0 to the destination, unless they are the same memory.
std::unique_ptr<kernels::Kernel> copy_kernel(const Site &site);

}  // namespace dl4::dispatch
