// Names of kernels that a context can switch off, and texts of why one was chosen.
#include <algorithm>
#include <cstdio>

#include "backend/cpu/dispatch/choose.hpp"
#include "backend/cpu/dispatch/conv.hpp"
#include "backend/cpu/dispatch/libraries.hpp"
#include "backend/cpu/dispatch/lstm.hpp"
#include "backend/cpu/dispatch/products.hpp"

namespace dl4::dispatch {

std::string told(std::span<const Choice> choices) {
  std::string all;
  for (const Choice &choice : choices) {
    all += all.empty() ? "" : "; ";
    for (const Price &p : choice) {
      const bool first = &p == &choice[0];
      char cost[32];
      std::snprintf(cost, sizeof cost, " %.3g", p.microseconds);
      if (p.microseconds < std::numeric_limits<double>::infinity())
        all += text(first ? "" : &p == &choice[1] ? ", then " : ", ", p.name, cost, first ? " us" : "");
      else if (first)
        all += text(p.name, ", the last resort");
    }
  }
  return all;
}

const std::vector<std::string> &kernel_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto &list : {product_switches(), conv_switches(), lstm_switches()})
      all.insert(all.end(), list.begin(), list.end());
    for (const char *name : {"amx_attention", "amx_attention_grad"}) all.emplace_back(name);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }();
  return names;
}

std::vector<std::string> library_kernels() {
  std::vector<std::string> found;
  for (const std::string &name : kernel_names())
    for (const Library *library : libraries())
      if (name.starts_with(library->prefix)) found.push_back(name);
  return found;
}

std::vector<std::string> unportable_kernels() {
  std::vector<std::string> found = library_kernels();
  for (const std::string &name : kernel_names())
    if (name.starts_with("winograd") || name.starts_with("amx")) found.push_back(name);
  found.emplace_back("turned_gemm");  // newer than published bits
  return found;
}

}  // namespace dl4::dispatch
