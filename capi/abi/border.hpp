// The one shape of every entry: check the handles, convert, call the core, catch.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/float_mode.hpp"
#include "base/host.hpp"
#include "base/shape.hpp"
#include "objects.hpp"

namespace dl4::capi {

// The exception in flight as an error object; never fails.
dl4_error *to_error(const char *function) noexcept;

// What is wrong with a file is told with its path.
template <class F>
auto with_path(const std::string &path, F f) {
  try {
    return f();
  } catch (Error &error) {
    const std::string who = text('"', path, '"');
    if (error.message.find(who) == std::string::npos) error.in(who);
    throw error.with("path", path);
  }
}

// A call under way, and the log whose messages are delivered at its end, also of its failure.
class Entry {
 public:
  void log_to(const Log &log) { log_ = log.queue(); }
  void failed(const dl4_error &error) noexcept;
  void end() {
    if (log_) Log::deliver(std::move(log_));
  }

 private:
  std::shared_ptr<Log::Queue> log_;
};

// Runs the body of an entry, body() or body(entry). No exception gets past: those of the host's functions have become
// errors in call_host(). Floats: FlushToZero for one that runs at once.
template <class Floats = OwnFloats, class F>
dl4_error *guard(const char *function, F &&body) {
  Floats floats;
  Entry entry;
  Ref<dl4_error> error;
  try {
    if constexpr (std::is_invocable_v<F, Entry &>)
      body(entry);
    else
      body();
  } catch (const std::exception &) {
    error = Ref<dl4_error>::adopt(to_error(function));
    entry.failed(*error);
  }
  entry.end();
  return error.detach();
}

// The same where no error can be told, of what computes nothing.
template <class R, class F>
R guard_or(R otherwise, F &&body) noexcept {
  try {
    return body();
  } catch (...) {
    return otherwise;
  }
}

[[noreturn]] void refuse_argument(const char *argument, const std::string &why);
[[noreturn]] void refuse_handle(const char *argument, Tag expected, const void *got);
// The same where more than one type is taken: "dl4_model, dl4_session or dl4_stream".
[[noreturn]] void refuse_handle(const char *argument, const char *expected, const void *got);

template <class T>
using bare = std::remove_const_t<T>;

template <class T>
T *cast(T *handle) noexcept {
  const Object *o = object_of(handle);
  return o && o->tag() == bare<T>::type ? handle : nullptr;
}

// The object behind a handle; refuses NULL, freed ones and other types.
template <class T>
T &object(T *handle, const char *argument) {
  if (!cast(handle)) refuse_handle(argument, bare<T>::type, handle);
  return *handle;
}
// The same where NULL is allowed.
template <class T>
T *object_or_null(T *handle, const char *argument) {
  return handle ? &object(handle, argument) : nullptr;
}
// Element i of an array of handles; its name costs nothing unless it is refused. Each run calls it for each tensor.
template <class T>
[[gnu::always_inline]] inline T &element(T *handle, const char *argument, size_t i) {
  if (!cast(handle)) refuse_handle(text(argument, '[', i, ']').c_str(), bare<T>::type, handle);
  return *handle;
}

template <class T>
T &needed(T *out, const char *argument) {
  if (!out) refuse_argument(argument, "expected a pointer, got NULL");
  return *out;
}

// A UTF-8 text; refuses NULL and what is not UTF-8.
std::string string(const char *s, const char *argument);
inline std::string string_or_empty(const char *s, const char *argument) {
  return s ? string(s, argument) : std::string();
}

// An array of `n`; may be NULL when n is 0.
template <class T>
std::span<T> array(T *first, int64_t n, const char *argument) {
  if (n < 0) refuse_argument(argument, text("expected a count of at least 0, got ", n));
  if (n > std::numeric_limits<int32_t>::max()) refuse_argument(argument, text("a count of ", n));
  if (n && !first) refuse_argument(argument, text("expected an array of ", n, ", got NULL"));
  return {first, static_cast<size_t>(n)};
}

// Memory of the caller's to read; refuses NULL and a negative size.
std::span<const std::byte> bytes_of(const void *data, int64_t bytes);

std::vector<dl4_tensor *> tensors(dl4_tensor *const *list, int64_t n, const char *argument);

// Refuses memory whose address no element of this type can have.
void need_aligned(const void *p, DType dtype, const char *argument);

Shape shape_of(int32_t rank, const int64_t *dims, const char *argument);
// A type of data that tensors may have; UNSUPPORTED for the reserved ones.
DType dtype_of(int32_t number);

void need_index(int64_t i, int64_t count);  // 0 <= i < count

std::string version_text();  // "1.2.3"

// An input, output or weight of an object; 0 <= i < dl4_port_count().
struct Port {
  const char *name;  // lives as long as the object
  DType dtype;
  Shape shape;
};
Port port_of(const dl4_model &m, int32_t which, int64_t i);
Port port_of(const dl4_session &s, int32_t which, int64_t i);
Port port_of(const dl4_stream &s, int32_t which, int64_t i);
Port port_of(const dl4_trainer &t, int32_t which, int64_t i);

dl4_context &context(dl4_context *handle);
dl4_blob *make_blob(std::string bytes);

// Writes the first dims, up to `cap`, and the rank.
void give_shape(const Shape &shape, int64_t *dims, int64_t cap, int32_t *rank);

template <class T>
void clear(T *out, T value = {}) noexcept {
  if (out) *out = value;
}

// An object's own text in `format`; refuses the others.
std::string describe(const dl4_refs &refs, int32_t format);
std::string describe(const dl4_context &c, int32_t format);
std::string describe(const dl4_tensor &t, int32_t format);
std::string describe(dl4_graph &g, int32_t format);
std::string describe(dl4_model &m, int32_t format);
std::string describe(dl4_session &s, int32_t format);
std::string describe(dl4_dataset &d, int32_t format);
std::string describe(dl4_trainer &t, int32_t format);
[[noreturn]] void refuse_format(Tag tag, int32_t format);
inline std::string dump(const Json &j) { return j.dump(); }

}  // namespace dl4::capi
