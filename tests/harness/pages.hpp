// Memory that ends where a page must not be touched.
#pragma once

#include <cstddef>

namespace dl4_test {

class Pages {
 public:
  explicit Pages(size_t least);  // bytes before end()
  ~Pages();
  Pages(const Pages &) = delete;
  Pages &operator=(const Pages &) = delete;
  char *end() const { return end_; }

 private:
  size_t bytes_;
  char *base_, *end_;
};

}  // namespace dl4_test
