// Kernels that copy rectangles of bytes.
#include "backend/cpu/dispatch/blocks.hpp"

#include "backend/cpu/dispatch/sliced.hpp"
#include "base/checked.hpp"

namespace dl4::dispatch {

using kernels::Block;

std::unique_ptr<kernels::Kernel> move_blocks(std::string name, const Site &site, std::vector<Block> blocks) {
  int64_t total = 0;
  std::erase_if(blocks, [](const Block &b) { return b.rows == 0 || b.bytes == 0; });
  for (Block &b : blocks) {
    // Rows without gaps on both sides merge into one.
    if (b.to_pitch == b.bytes && (b.from < 0 || b.from_pitch == b.bytes)) {
      b.bytes = checked_mul(b.bytes, b.rows);
      b.rows = 1;
    }
    total = checked_add(total, checked_mul(b.rows, b.bytes));
  }
  constexpr int64_t page = 4096;
  int64_t slices = site.cutting.slices((total + page - 1) / page, 2 * us_per_byte * static_cast<double>(total));
  return kernels::make_kernel(std::move(name), slices, [slices, blocks](int64_t i, const Run &r) {
    for (const Block &b : blocks) {
      auto [begin, end] = kernels::part(b.rows * b.bytes, slices, i, 64);
      auto *to = r.out<std::byte>(b.to);
      const auto *from = b.from < 0 ? nullptr : r.in<std::byte>(b.from);
      if (begin < end && to && (from || b.from < 0)) kernels::move(b, begin, end, from, to);
    }
  });
}

std::unique_ptr<kernels::Kernel> copy_kernel(const Site &site) {
  const Operand &x = site.src[0];
  return move_blocks("copy", site, {{.bytes = checked_mul(x.shape.elements(), size_of(x.dtype))}});
}

}  // namespace dl4::dispatch
