// Lists of candidates: the kernels that may compute one thing, best first.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/dispatch/site.hpp"

namespace dl4::dispatch {

// A kernel for what `At` describes, whose dtype() says what it is computed in. Its name is the one in plans, in
// kernels_off and in the bench: the kernel's own begins with it.
template <class At>
struct Candidate {
  const char *name;
  bool (*applies)(const At &);
  std::unique_ptr<kernels::Kernel> (*make)(const At &);  // may still give nullptr, but for the last
  DType dtype = DType::f32;                              // what it computes in
};

template <class At>
bool always(const At &) {
  return true;
}

// The first candidate that is not switched off and applies, `first` before all others; the last one always applies.
// Refuses a dtype that none of them computes in.
template <class At>
std::unique_ptr<kernels::Kernel> choose(const Site &site, std::span<const Candidate<At>> list, const At &at,
                                        std::string_view first = {}) {
  auto make = [&](const Candidate<At> &c) {
    bool use = c.dtype == at.dtype() && (&c == &list.back() || (site.allows(c.name) && c.applies(at)));
    auto kernel = use ? c.make(at) : nullptr;
    if (kernel && !kernel->name.starts_with(c.name))
      fail(Code::internal, "the kernel \"", kernel->name, "\" is listed as ", c.name);
    return kernel;
  };
  for (const Candidate<At> &c : list)
    if (c.name == first)
      if (auto kernel = make(c)) return kernel;
  for (const Candidate<At> &c : list)
    if (auto kernel = make(c)) return kernel;
  fail(Code::unsupported, "no kernel computes ", list.back().name, " in ", at.dtype(), " for these shapes");
}

// Names of the candidates that can be switched off: those that are not last.
template <class At>
std::vector<std::string> switches(std::span<const Candidate<At>> list) {
  std::vector<std::string> names;
  for (const Candidate<At> &c : list.first(list.size() - 1)) names.emplace_back(c.name);
  return names;
}
// Of all lists, sorted.
const std::vector<std::string> &kernel_names();

}  // namespace dl4::dispatch
