// The CPU as the backend.
#include <unordered_map>

#include "backend/backend.hpp"
#include "backend/cpu/dispatch/libraries.hpp"
#include "backend/cpu/families.hpp"
#include "backend/cpu/kernels/gemm/amx_gemm.hpp"

namespace dl4::backend {
namespace {

using namespace cpu;

auto all() {
  std::unordered_map<std::type_index, decltype(Row::make)> makers;
  for (auto rows : {attention_kernels(), conv_kernels(), elementwise_kernels(), host_kernels(), indexing_kernels(),
                    movement_kernels(), normalize_kernels(), products_kernels(), random_kernels(), recurrent_kernels(),
                    reduce_kernels(), text_kernels(), updates_kernels()})
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

std::vector<Library> libraries() {
  std::vector<Library> all;
  for (const dispatch::Library *l : dispatch::libraries()) all.push_back({l->name, l->description(), l->unused()});
  return all;
}

std::vector<std::shared_ptr<void>> while_making() {
  std::vector<std::shared_ptr<void>> held;
  for (const dispatch::Library *l : dispatch::libraries())
    if (l->while_making) held.push_back(l->while_making());
  return held;
}

bool has_bfloat16_tiles() noexcept { return kernels::has_tiles(); }

}  // namespace dl4::backend
