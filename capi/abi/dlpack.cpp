// Tensors from and to DLPack, versions 0 and 1.
#include "dlpack.hpp"

#include <algorithm>

namespace dl4::capi::dlpack {
namespace {

constexpr int32_t cpu = 1;
constexpr uint64_t read_only = 1;

struct Code {
  DType dtype;
  uint8_t code, bits;
};
constexpr Code codes[] = {{DType::f32, 2, 32}, {DType::f64, 2, 64}, {DType::i32, 0, 32},
                          {DType::i64, 0, 64}, {DType::u8, 1, 8},   {DType::boolean, 6, 8}};

template <class M>
struct Imported {
  M *managed = nullptr;
  ~Imported() {
    if (managed && managed->deleter) give_back([&] { managed->deleter(managed); });
  }
};

template <class M>
dl4_tensor *import_any(M *m) {
  const Array &a = m->array;
  if (a.device.type != cpu)
    fail(dl4::Code::unsupported, "a DLPack tensor on device type ", a.device.type, "; only 1, the CPU, is supported");
  const Code *found = nullptr;
  for (const Code &c : codes)
    if (a.dtype.lanes == 1 && c.code == a.dtype.code && c.bits == a.dtype.bits) found = &c;
  if (!found)
    fail(dl4::Code::unsupported, "a DLPack tensor of type code ", static_cast<int>(a.dtype.code), ", ",
         static_cast<int>(a.dtype.bits), " bits, ", static_cast<int>(a.dtype.lanes), " lanes");
  Shape shape = shape_of(a.ndim, a.shape, "shape");
  if (!shape.known()) refuse_argument("managed", text("expected dims of at least 0, got ", shape));
  if (!a.data && shape.elements()) refuse_argument("managed", "its data is NULL");
  auto *first = a.data ? static_cast<std::byte *>(a.data) + a.byte_offset : nullptr;
  need_aligned(first, found->dtype, "managed");
  auto keep = std::make_shared<Imported<M>>();
  auto *t = new dl4_tensor(found->dtype, shape, a.strides, Bytes(keep, first));
  keep->managed = m;
  return t;
}

}  // namespace

dl4_tensor *import(Managed *m) { return import_any(m); }

dl4_tensor *import(ManagedVersioned *m) {
  if (m->major != 1)
    fail(dl4::Code::unsupported, "a DLPack tensor of version ", m->major, '.', m->minor, "; 1 is supported");
  dl4_tensor *t = import_any(m);
  t->read_only = m->flags & read_only;
  return t;
}

template <class M>
M *share(dl4_tensor &t) {
  struct Owner {
    M managed{};
    Ref<dl4_tensor> tensor;
    std::array<int64_t, max_rank> shape{}, strides{};
  };
  auto owner = std::make_unique<Owner>();
  owner->tensor = Ref<dl4_tensor>(&t);
  std::copy(t.shape.begin(), t.shape.end(), owner->shape.begin());
  owner->strides = t.strides;
  M &m = owner->managed;
  for (const Code &c : codes)
    if (c.dtype == t.dtype) m.array.dtype = {c.code, c.bits, 1};
  m.array.data = t.data.get();
  m.array.device = {cpu, 0};
  m.array.ndim = t.shape.rank();
  m.array.shape = owner->shape.data();
  m.array.strides = owner->strides.data();
  if constexpr (std::is_same_v<M, ManagedVersioned>) {
    m.major = 1;
    m.flags = t.read_only ? read_only : 0;
  }
  m.manager = owner.get();
  m.deleter = [](M *self) { delete static_cast<Owner *>(self->manager); };
  return &owner.release()->managed;
}

template Managed *share(dl4_tensor &);
template ManagedVersioned *share(dl4_tensor &);

}  // namespace dl4::capi::dlpack
