// DLPack's structs as specified, and conversion of tensors.
#pragma once

#include "border.hpp"

namespace dl4::capi::dlpack {

struct Device {
  int32_t type, id;
};
struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct Array {
  void *data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct Managed {
  Array array;
  void *manager;
  void (*deleter)(Managed *);
};
struct ManagedVersioned {
  uint32_t major, minor;
  void *manager;
  void (*deleter)(ManagedVersioned *);
  uint64_t flags;
  Array array;
};

// Takes ownership of `managed` on success.
dl4_tensor *import(Managed *managed);
dl4_tensor *import(ManagedVersioned *managed);

// A struct that holds a reference to the tensor. M: Managed or ManagedVersioned.
template <class M>
M *share(dl4_tensor &t);

}  // namespace dl4::capi::dlpack
