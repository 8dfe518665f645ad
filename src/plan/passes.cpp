// The list of passes.
#include "plan/passes.hpp"

#include <algorithm>

namespace dl4::plan {
namespace {
constexpr Pass list[] = {
    {"unroll_scans", unroll_scans},     {"drop_dead", drop_dead},           {"drop_identities", drop_identities},
    {"fold_constants", fold_constants}, {"merge_equal", merge_equal},       {"keep_rows", keep_rows},
    {"fold_padding", fold_padding},     {"fuse_epilogues", fuse_epilogues}, {"drop_dead", drop_dead},
};
}

std::span<const Pass> passes() { return list; }

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass &pass : list)
    if (std::find(names.begin(), names.end(), pass.name) == names.end()) names.emplace_back(pass.name);
  names.insert(names.end(), {"fold_weights", "in_place", "join_parts", "join_rows"});
  return names;
}

void run_passes(ops::Program &p, std::span<const std::string> off, bool check) {
  if (check) ops::verify(p);
  for (const Pass &pass : list) {
    if (std::find(off.begin(), off.end(), pass.name) != off.end()) continue;
    pass.run(p);
    if (!check) continue;
    try {
      ops::verify(p);
    } catch (Error &error) {
      error.in(text("after pass ", pass.name));
      throw;
    }
  }
}

}  // namespace dl4::plan
