// The structure of every C function: check handles, convert, call the core, catch.
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

// Converts the current exception to an error object; never fails.
dl4_error *to_error(const char *function) noexcept;

// Adds the file's path to errors.
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

// A call in progress, and the log whose messages are delivered when it ends, also by failure.
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

// Runs the body of a C function, body() or body(entry). No exception escapes; those of host functions were converted to
// errors by call_host(). Floats: FlushToZero if it computes at once.
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

// The same for functions that can't report errors and compute nothing.
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
// The same for several types: "dl4_model, dl4_session or dl4_stream".
[[noreturn]] void refuse_handle(const char *argument, const char *expected, const void *got);

template <class T>
using bare = std::remove_const_t<T>;

template <class T>
T *cast(T *handle) noexcept {
  const Object *o = object_of(handle);
  return o && o->tag() == bare<T>::type ? handle : nullptr;
}

// The object of a handle; refuses NULL, freed objects and other types.
template <class T>
T &object(T *handle, const char *argument) {
  if (!cast(handle)) refuse_handle(argument, bare<T>::type, handle);
  return *handle;
}
// The same, allowing NULL.
template <class T>
T *object_or_null(T *handle, const char *argument) {
  return handle ? &object(handle, argument) : nullptr;
}
// Element i of an array of handles. Its name is formatted only if refused: each run calls this for each tensor.
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

// A UTF-8 string; refuses NULL and invalid UTF-8.
std::string string(const char *s, const char *argument);
inline std::string string_or_empty(const char *s, const char *argument) {
  return s ? string(s, argument) : std::string();
}

// An array of n elements; may be NULL if n is 0.
template <class T>
std::span<T> array(T *first, int64_t n, const char *argument) {
  if (n < 0) refuse_argument(argument, text("expected a count of at least 0, got ", n));
  if (n > std::numeric_limits<int32_t>::max()) refuse_argument(argument, text("a count of ", n));
  if (n && !first) refuse_argument(argument, text("expected an array of ", n, ", got NULL"));
  return {first, static_cast<size_t>(n)};
}

// The caller's memory for reading; refuses NULL and negative sizes.
std::span<const std::byte> bytes_of(const void *data, int64_t bytes);

std::vector<dl4_tensor *> tensors(dl4_tensor *const *list, int64_t n, const char *argument);

// Refuses addresses that are misaligned for the dtype.
void need_aligned(const void *p, DType dtype, const char *argument);

Shape shape_of(int32_t rank, const int64_t *dims, const char *argument);
// A dtype that tensors may have; UNSUPPORTED for reserved ones.
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

// Writes up to `cap` dims, and the rank.
void give_shape(const Shape &shape, int64_t *dims, int64_t cap, int32_t *rank);

template <class T>
void clear(T *out, T value = {}) noexcept {
  if (out) *out = value;
}

// Runs the body of a C function that gives one thing, as guard() does: *out becomes what body() or body(entry) returns,
// or `failed`. Refuses NULL.
template <class T, class F>
dl4_error *produce(const char *function, T *out, F &&body, T failed = {}) {
  clear(out, failed);
  return guard(function, [&](Entry &entry) {
    T &to = needed(out, "out");
    if constexpr (std::is_invocable_v<F, Entry &>)
      to = body(entry);
    else
      to = body();
  });
}

// An object's own description in `format`; refuses other formats.
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
