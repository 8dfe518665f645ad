// Candidate lists: kernels that compute the same thing. The cheapest one that applies is used.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/dispatch/costs.hpp"
#include "backend/cpu/dispatch/site.hpp"

namespace dl4::dispatch {

// A kernel for the computation that `At` describes; its dtype() is the arithmetic type. `name` appears in plans,
// kernels_off and the bench, and is a prefix of the kernel's own name. The order of a list is irrelevant.
template <class At>
struct Candidate {
  const char *name;
  bool (*applies)(const At &);
  double (*cost)(const At &);                            // microseconds on one thread
  std::unique_ptr<kernels::Kernel> (*make)(const At &);  // may still return nullptr, except for the last resort
  DType dtype = DType::f32;                              // arithmetic type

  // Used if no other applies; cannot be switched off.
  bool is_last_resort() const { return cost == last_resort; }
  static double last_resort(const At &) { return std::numeric_limits<double>::infinity(); }
};

template <class At>
bool always(const At &) {
  return true;
}

// "small_gemm 3.2 us, then packed_gemm 4.1, dnnl_gemm 6": the first, and the alternatives except the last resort;
// choices are separated by semicolons.
std::string told(std::span<const Choice> choices);

// The applicable candidates, cheapest first. times: Machine::times.
template <class At>
std::vector<std::pair<Price, const Candidate<At> *>> priced(std::span<const Candidate<At>> list, const At &at,
                                                            const std::map<std::string, double, std::less<>> &times) {
  std::vector<std::pair<Price, const Candidate<At> *>> found;
  for (const Candidate<At> &c : list) {
    if (c.dtype != at.dtype() || !c.applies(at)) continue;
    const auto by = times.find(std::string_view(c.name));
    found.push_back({{c.name, c.cost(at) * (by == times.end() ? 1 : by->second)}, &c});
  }
  std::sort(found.begin(), found.end(),
            [](const auto &a, const auto &b) { return a.first.microseconds < b.first.microseconds; });
  return found;
}
template <class At>
std::vector<Price> prices(std::span<const Candidate<At>> list, const At &at) {
  std::vector<Price> all;
  for (const auto &[price, candidate] : priced(list, at, {})) all.push_back(price);
  return all;
}

// Makes the kernel of the cheapest candidate that is not switched off. Refuses a dtype without candidates.
template <class At>
std::unique_ptr<kernels::Kernel> choose(const Site &site, std::span<const Candidate<At>> list, const At &at) {
  std::unique_ptr<kernels::Kernel> kernel;
  Choice from;
  for (const auto &[price, candidate] : priced(list, at, machine(site.cutting).times)) {
    if (!candidate->is_last_resort() && !site.allows(candidate->name)) continue;
    if (!kernel) kernel = candidate->make(at);
    if (kernel) from.push_back(price);
  }
  if (!kernel)
    fail(Code::unsupported, "no kernel computes ", list.back().name, " in ", at.dtype(), " for these shapes");
  if (!kernel->name.starts_with(from[0].name))
    fail(Code::internal, "the kernel \"", kernel->name, "\" is listed as ", from[0].name);
  if (site.choices) site.choices->push_back(std::move(from));
  return kernel;
}

// Names of candidates that can be switched off.
template <class At>
std::vector<std::string> switches(std::span<const Candidate<At>> list) {
  std::vector<std::string> names;
  for (const Candidate<At> &c : list)
    if (!c.is_last_resort()) names.emplace_back(c.name);
  return names;
}
// Those of all lists, sorted.
const std::vector<std::string> &kernel_names();
// Those implemented by libraries: they may allocate, lock and make system calls during a run.
std::vector<std::string> library_kernels();
// Those whose bits depend on the processor or a library.
std::vector<std::string> unportable_kernels();

}  // namespace dl4::dispatch
