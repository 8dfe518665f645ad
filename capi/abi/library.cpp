// Functions of the library itself and of all objects.
#include <algorithm>

#include "backend/backend.hpp"
#include "base/cpu.hpp"
#include "base/inflate.hpp"
#include "base/os/processor.hpp"
#include "base/utf8.hpp"
#include "border.hpp"
#include "kinds/custom.hpp"
#include "options.hpp"
#include "plan/passes.hpp"
#include "tuning.hpp"

extern const char dl4_api_json[];
extern const long long dl4_api_json_size, dl4_api_json_deflated;

using namespace dl4;
using namespace dl4::capi;

namespace {

using capi::describe;

constexpr int32_t version = DL4_VERSION_MAJOR * 1000000 + DL4_VERSION_MINOR * 1000 + DL4_VERSION_PATCH;

void need_category(const std::string &name) {
  const auto &all = kinds::categories();
  if (std::find(all.begin(), all.end(), name) == all.end())
    throw Error(Code::not_found, text("there is no category \"", name, '"')).with("category", name).suggest(name, all);
}

template <class T>
T &as(const void *object) {
  return *const_cast<T *>(static_cast<const T *>(object));
}

std::string describe(const dl4_error &e, int32_t format) {
  if (format == DL4_FORMAT_TEXT) return e.message;
  if (format != DL4_FORMAT_JSON) refuse_format(Tag::error, format);
  return dump({{"code", static_cast<int32_t>(e.code)}, {"message", e.message}, {"detail", Json::parse(e.detail)}});
}

std::string describe(const dl4_blob &b, int32_t format) {
  if (format == DL4_FORMAT_TEXT) return text(b.bytes.size(), " bytes");
  if (format != DL4_FORMAT_JSON) refuse_format(Tag::blob, format);
  return dump({{"bytes", b.bytes.size()}});
}

std::string describe(const dl4_cancel &c, int32_t format) {
  const bool on = c.triggered.load() != 0;
  if (format == DL4_FORMAT_TEXT) return on ? "triggered" : "not triggered";
  if (format != DL4_FORMAT_JSON) refuse_format(Tag::cancel, format);
  return dump({{"triggered", on}});
}

std::string describe_any(const void *object, int32_t format) {
  const Object *o = object_of(object);
  if (!o) refuse_argument("object", object ? "expected an object, got no live one" : "expected an object, got NULL");
  switch (o->tag()) {
    case Tag::refs:
      return describe(as<dl4_refs>(object), format);
    case Tag::context:
      return describe(as<dl4_context>(object), format);
    case Tag::tensor:
      return describe(as<dl4_tensor>(object), format);
    case Tag::graph:
      return describe(as<dl4_graph>(object), format);
    case Tag::model:
      return describe(as<dl4_model>(object), format);
    case Tag::session:
      return describe(as<dl4_session>(object), format);
    case Tag::dataset:
      return describe(as<dl4_dataset>(object), format);
    case Tag::trainer:
      return describe(as<dl4_trainer>(object), format);
    case Tag::error:
      return describe(as<dl4_error>(object), format);
    case Tag::blob:
      return describe(as<dl4_blob>(object), format);
    case Tag::cancel:
      return describe(as<dl4_cancel>(object), format);
    case Tag::stream:
    case Tag::freed:
      break;
  }
  refuse_format(o->tag(), format);
}

}  // namespace

std::string dl4::capi::version_text() {
  return text(DL4_VERSION_MAJOR, '.', DL4_VERSION_MINOR, '.', DL4_VERSION_PATCH);
}

int32_t dl4_version(void) { return version; }

dl4_error *dl4_build_info(dl4_blob **out) {
  return produce(__func__, out, [&] {
    Json info = {
        {"version", version_text()},
        {"compiler", __VERSION__},
        {"passes", plan::pass_names()},
        {"kernels", dispatch::kernel_names()},
        {"threads", os::has_threads() ? "many" : "one"},
        {"tuning", computed_tuning()},
        {"cpu", {{"name", valid_utf8(cpu::name())}, {"isa", cpu::isa()}, {"cores_available", cpu::cores_available()}}}};
    const auto libraries = backend::libraries();
    info["backends"] = libraries.empty() ? "own" : "full";
    for (const backend::Library &l : libraries)
      info[l.name] = l.description + (l.unused.empty() ? "" : ": not used, " + l.unused);
    return make_blob(dump(info));
  });
}

dl4_error *dl4_api_description(dl4_blob **out) {
  return produce(__func__, out, [&] {
    const std::string words = inflated({dl4_api_json, static_cast<size_t>(dl4_api_json_deflated)}, dl4_api_json_size);
    Json j = Json::parse(words), functions = Json::array();
    for (const Json &function : j["functions"]) {
      Json f = function;
      if (Json options = options_of(f["name"].get<std::string_view>()); !options.is_null()) f["options"] = options;
      functions.push_back(std::move(f));
    }
    j["functions"] = std::move(functions);
    return make_blob(dump(j));
  });
}

dl4_error *dl4_registry_json(const char *category, const char *name, dl4_blob **out) {
  return produce(__func__, out, [&] {
    std::string c = string_or_empty(category, "category"), n = string_or_empty(name, "name");
    if (category) need_category(c);
    if (name && !category) refuse_argument("category", "expected a category beside the name, got NULL");
    if (name && n.empty()) refuse_argument("name", "expected a name, got an empty text");
    return make_blob(dump(kinds::describe(c, n)));
  });
}

dl4_error *dl4_registry_check(const char *category, const char *name, const char *config) {
  return guard(__func__, [&] {
    const std::string of = string(category, "category"), kind = string(name, "name");
    need_category(of);
    Json attributes = json_object(config, "config");
    if (of == "layer")
      graph::Graph(capi::context(nullptr).core->settings()).layer(kind, "", std::move(attributes), {});
    else
      kinds::parse(of, {{"class_name", kind}, {"config", std::move(attributes)}});
  });
}

dl4_error *dl4_registry_remove(const char *category, const char *name) {
  return guard(__func__, [&] {
    const std::string of = string(category, "category");
    need_category(of);
    kinds::remove_custom(of, string(name, "name"));
  });
}

void dl4_retain(void *object) {
  if (const Object *o = object_of(object)) const_cast<Object *>(o)->retain();
}

void dl4_release(void *object) {
  const Object *o = object_of(object);
  if (o) guard(__func__, [&] { const_cast<Object *>(o)->release(); });
}

dl4_error *dl4_describe(const void *object, int32_t format, dl4_blob **out) {
  clear(out);
  return guard(__func__, [&] {
    dl4_blob *&to = needed(out, "out");
    const std::string text = describe_any(object, format);
    to = make_blob(format == DL4_FORMAT_JSON ? text : printable(text, true));  // may contain names from a file
  });
}
