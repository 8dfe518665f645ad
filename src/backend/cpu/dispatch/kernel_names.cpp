// The kernels that a context can leave out.
#include <algorithm>

#include "backend/cpu/dispatch/choose.hpp"
#include "backend/cpu/dispatch/conv.hpp"
#include "backend/cpu/dispatch/lstm.hpp"
#include "backend/cpu/dispatch/products.hpp"

namespace dl4::dispatch {

const std::vector<std::string> &kernel_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto &list : {product_switches(), conv_switches(), lstm_switches()})
      all.insert(all.end(), list.begin(), list.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }();
  return names;
}

}  // namespace dl4::dispatch
