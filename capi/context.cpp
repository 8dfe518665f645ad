// Contexts.
#include "options.hpp"

namespace dl4::capi {

dl4_context &context(dl4_context *handle) {
  if (handle) return object(handle, "c");
  // Never freed: objects of it may outlive static destruction.
  static dl4_context *const process = new dl4_context(Json::object());
  return *process;
}

std::string describe(const dl4_context &c, int32_t format) {
  Json j = c.core->describe();
  if (format == DL4_FORMAT_JSON) return dump(j);
  if (format != DL4_FORMAT_TEXT) refuse_format(Tag::context, format);
  std::string s;
  for (const auto &[key, value] : j.items()) s += text(key, ": ", dump(value), '\n');
  return s;
}

}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_context_create(const dl4_attrs *options, dl4_context **out) {
  clear(out);
  return guard(__func__, [&] {
    dl4_context *&to = needed(out, "out");
    to = new dl4_context(plain(options, "options"));
  });
}

dl4_error *dl4_context_set_logger(dl4_context *c, int32_t min_level, dl4_log_fn fn, void *user) {
  return guard(__func__, [&] {
    dl4_context &context = capi::context(c);
    if (fn && (min_level < DL4_LOG_TRACE || min_level > DL4_LOG_ERROR))
      refuse_argument("min_level", text("expected 0 to 4, got ", min_level));
    context.core->log.set(min_level, fn, user);
  });
}

dl4_error *dl4_context_set_allocator(dl4_context *c, dl4_alloc_fn alloc, dl4_free_fn release, void *user) {
  return guard(__func__, [&] {
    dl4_context &context = capi::context(c);
    if (!alloc != !release) refuse_argument(alloc ? "release" : "alloc", "expected both functions or none, got NULL");
    context.core->memory->set(alloc, release, user);
  });
}

dl4_error *dl4_context_trim(dl4_context *c) {
  return guard(__func__, [&] { capi::context(c).core->trim(); });
}
