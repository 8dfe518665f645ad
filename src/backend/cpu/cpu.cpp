// The table of op families.
#include "backend/cpu/cpu.hpp"

#include <unordered_map>

#include "backend/cpu/families.hpp"

namespace dl4::cpu {
namespace {

auto all() {
  std::unordered_map<std::type_index, decltype(Row::make)> makers;
  for (auto rows : {attention_kernels(), conv_kernels(), elementwise_kernels(), host_kernels(), indexing_kernels(),
                    movement_kernels(), normalize_kernels(), products_kernels(), random_kernels(), recurrent_kernels(),
                    reduce_kernels(), updates_kernels()})
    for (const Row &row : rows) makers.emplace(row.type, row.make);
  return makers;
}

}  // namespace

std::unique_ptr<Kernel> make_kernel(const ops::Op &op, const Site &site) {
  static const auto makers = all();
  const ops::Description d = op.description();
  const auto found = makers.find(d.type);
  if (found == makers.end()) fail(Code::unsupported, "the CPU has no kernel for the op ", op.name());
  return found->second(d.attributes, site);
}

}  // namespace dl4::cpu
