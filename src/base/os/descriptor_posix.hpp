// A file descriptor that closes itself; negative if there is none.
#pragma once

#include <unistd.h>

namespace dl4::os {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  operator int() const { return fd_; }

 private:
  const int fd_;
};

}  // namespace dl4::os
