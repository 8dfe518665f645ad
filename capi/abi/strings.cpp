// Tensors of strings.
#include "base/strings.hpp"

#include <cstring>

#include "border.hpp"

using namespace dl4;
using namespace dl4::capi;

namespace {

Shape known_shape(int32_t rank, const int64_t *dims) {
  const Shape shape = shape_of(rank, dims, "dims");
  if (!shape.known()) refuse_argument("dims", text("expected dims of at least 0, got ", shape));
  return shape;
}

dl4_tensor *made(Tensor t) {
  auto *made = new dl4_tensor(std::move(t));
  made->read_only = true;  // its elements are not in its memory
  return made;
}

int64_t limit_of(dl4_context *c) { return capi::context(c).core->settings().memory_limit; }

// What a tensor over the caller's bytes keeps alive.
struct Wrapped {
  Bytes places;
  std::shared_ptr<Release> bytes;
};

template <class Offset>
void place(String *to, int64_t n, const Offset *offsets, const char *data, int64_t bytes) {
  for (int64_t i = 0; i < n; ++i) {
    const auto begin = static_cast<int64_t>(offsets[i]), end = static_cast<int64_t>(offsets[i + 1]);
    if (begin < 0 || end < begin || end > bytes)
      fail(Code::shape_mismatch, "\"offsets\": expected numbers that do not decrease, from 0 to ", bytes, ", got ",
           begin, " and ", end, " at ", i);
    to[i] = {data ? data + begin : "", end - begin};
  }
}

}  // namespace

dl4_error *dl4_tensor_from_strings(dl4_context *c, int32_t rank, const int64_t *dims, const char *const *strings,
                                   const int64_t *lengths, dl4_tensor **out) {
  return produce(__func__, out, [&] {
    const int64_t limit = limit_of(c);
    const Shape shape = known_shape(rank, dims);
    const int64_t n = shape.elements();
    if (n && !strings) refuse_argument("strings", "expected strings, got NULL");
    if (n > limit / static_cast<int64_t>(sizeof(String)))
      fail(Code::out_of_memory, "a tensor of ", n, " strings would pass the memory limit, ", limit, " bytes");
    std::vector<std::string_view> views(static_cast<size_t>(n));
    for (size_t i = 0; i < views.size(); ++i) {
      if (lengths && lengths[i] < 0)
        refuse_argument("lengths", text("expected at least 0, got ", lengths[i], " at ", i));
      if (!strings[i] && (!lengths || lengths[i]))
        refuse_argument("strings", text("expected a string, got NULL at ", i));
      if (!strings[i]) continue;
      views[i] = lengths ? std::string_view(strings[i], static_cast<size_t>(lengths[i])) : std::string_view(strings[i]);
    }
    return made(copy_of(shape, views, limit));
  });
}

dl4_error *dl4_tensor_wrap_strings(dl4_context *c, int32_t rank, const int64_t *dims, int32_t offset_dtype,
                                   const void *offsets, const void *data, int64_t bytes, dl4_release_fn release,
                                   void *user, dl4_tensor **out) {
  clear(out);
  return guard(__func__, [&] {
    dl4_tensor *&to = needed(out, "out");
    const int64_t limit = limit_of(c);
    const Shape shape = known_shape(rank, dims);
    const DType type = dtype_of(offset_dtype);
    if (type != DType::i32 && type != DType::i64)
      refuse_argument("offset_dtype", text("expected int32 or int64, got ", type));
    if (!offsets) refuse_argument("offsets", "expected offsets, got NULL");
    need_aligned(offsets, type, "offsets");
    if (bytes < 0) refuse_argument("bytes", text("expected at least 0, got ", bytes));
    if (!data && bytes) refuse_argument("data", "expected memory, got NULL");
    const int64_t n = shape.elements(), all = checked_add(checked_mul(n, sizeof(String)), bytes);
    if (all > limit)
      fail(Code::out_of_memory, "a tensor of ", n, " strings takes ", all, " bytes, the memory limit is ", limit);
    auto kept =
        std::make_shared<Wrapped>(Wrapped{make_tensor(DType::string, shape).data, std::make_shared<Release>(user)});
    auto *places = reinterpret_cast<String *>(kept->places.get());
    const auto *from = static_cast<const char *>(data);
    if (type == DType::i32)
      place(places, n, static_cast<const int32_t *>(offsets), from, bytes);
    else
      place(places, n, static_cast<const int64_t *>(offsets), from, bytes);
    to = made({DType::string, shape, Bytes(kept, kept->places.get())});
    kept->bytes->f = release;  // only what came to be an object is given back
  });
}

const char *dl4_tensor_string(const dl4_tensor *t, int64_t i, int64_t *bytes) {
  return guard_or<const char *>(nullptr, [&]() -> const char * {
    if (bytes) *bytes = 0;
    if (!cast(t) || t->dtype != DType::string || i < 0 || i >= t->shape.elements()) return nullptr;
    const String &s = reinterpret_cast<const String *>(t->data.get())[i];
    if (bytes) *bytes = s.size;
    return s.data ? s.data : "";
  });
}
