// Errors and blobs; conversion of exceptions.
#include <new>
#include <stdexcept>

#include "base/utf8.hpp"
#include "border.hpp"

namespace dl4::capi {
namespace {

dl4_error *out_of_memory() noexcept {
  // In static storage and never destroyed: it must exist without memory and after static destruction.
  alignas(dl4_error) static unsigned char place[sizeof(dl4_error)];
  static dl4_error *const error = [] {
    auto *e = new (place) dl4_error;
    e->code = Code::out_of_memory;
    e->message = "out of memory";
    e->is_static = true;
    return e;
  }();
  error->retain();
  return error;
}

void add(Json &detail, std::string_view key, std::string_view value) {
  if (!value.empty() && !detail.contains(key)) detail[key] = valid_utf8(std::string(value));
}

// Messages have the form `layer "fc": "units": expected X, got Y`; its parts are added to the detail.
void add_facts(Json &detail, std::string_view message) {
  size_t at = message.find(": ") + 2;  // after the function's name
  for (;;) {
    const size_t open = message.find('"', at), close = open == message.npos ? open : message.find("\": ", open + 1);
    if (close == message.npos) break;
    std::string_view word = message.substr(at, open - at), name = message.substr(open + 1, close - open - 1);
    if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyz ") != word.npos) break;
    if (!word.empty()) word.remove_suffix(1);
    if (!word.empty() && word.find(' ') == word.npos) add(detail, word, name);
    if (word.empty() && !detail.contains("argument") && !(detail.value("path", nullptr) == name))
      add(detail, "attribute", name);
    at = close + 3;
  }
  const size_t expected = message.find("expected ", at);
  if (expected == message.npos) return;
  const std::string_view rest = message.substr(expected + 9, message.find("; did you mean") - expected - 9);
  for (const std::string_view word : {", got ", ", found "}) {
    const size_t got = rest.find(word);
    if (got == rest.npos) continue;
    add(detail, "expected", rest.substr(0, got));
    const std::string_view what = rest.substr(got + word.size());
    add(detail, "got", what.substr(0, what.find(". Full shape")));
    return;
  }
  add(detail, "expected", rest);
}

dl4_error *make_error(Code code, std::string message, const std::vector<std::pair<std::string, std::string>> &facts,
                      const char *function) {
  auto e = std::make_unique<dl4_error>();
  Json detail = {{"function", function}};
  for (const auto &[key, value] : facts)
    if (!value.empty()) detail[key] = valid_utf8(value);
  add_facts(detail, message);
  e->code = code;
  e->message_text = printable(message);
  e->detail_text = dump(detail);
  e->message = e->message_text.c_str();
  e->detail = e->detail_text.c_str();
  return e.release();
}

}  // namespace

const char *name_of(Tag tag) {
  switch (tag) {
    case Tag::error:
      return "dl4_error";
    case Tag::blob:
      return "dl4_blob";
    case Tag::context:
      return "dl4_context";
    case Tag::refs:
      return "dl4_refs";
    case Tag::tensor:
      return "dl4_tensor";
    case Tag::graph:
      return "dl4_graph";
    case Tag::model:
      return "dl4_model";
    case Tag::session:
      return "dl4_session";
    case Tag::dataset:
      return "dl4_dataset";
    case Tag::trainer:
      return "dl4_trainer";
    case Tag::cancel:
      return "dl4_cancel";
    case Tag::stream:
      return "dl4_stream";
    case Tag::freed:
      break;
  }
  return "no live object";
}

dl4_error *to_error(const char *function) noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc &) {
      return out_of_memory();
    } catch (const std::length_error &) {
      return out_of_memory();
    } catch (const Error &e) {
      return make_error(e.code, text(function, ": ", e.message), e.detail, function);
    } catch (const std::exception &e) {
      return make_error(Code::internal, text(function, ": ", e.what()), {}, function);
    } catch (...) {
      return make_error(Code::internal, text(function, ": an exception of an unknown type"), {}, function);
    }
  } catch (...) {  // no memory for the error itself
    return out_of_memory();
  }
}

void refuse_argument(const char *argument, const std::string &why) {
  throw Error(Code::invalid_argument, text('"', argument, "\": ", why)).with("argument", argument);
}

void refuse_handle(const char *argument, Tag expected, const void *got) {
  refuse_handle(argument, name_of(expected), got);
}

void refuse_handle(const char *argument, const char *expected, const void *got) {
  const Object *o = object_of(got);
  std::string what = !got ? "NULL" : o ? name_of(o->tag()) : "no live object";
  throw Error(Code::invalid_argument, text('"', argument, "\": expected a ", expected, ", got ", o ? "a " : "", what))
      .with("argument", argument)
      .with("expected", expected)
      .with("got", what);
}

dl4_blob *make_blob(std::string bytes) { return new dl4_blob(std::move(bytes)); }

}  // namespace dl4::capi

using namespace dl4::capi;

int32_t dl4_error_code(const dl4_error *e) { return cast(e) ? static_cast<int32_t>(e->code) : 0; }

const char *dl4_error_message(const dl4_error *e) { return cast(e) ? e->message : ""; }

const char *dl4_error_detail(const dl4_error *e) { return cast(e) ? e->detail : "{}"; }

const char *dl4_blob_data(const dl4_blob *b) { return cast(b) ? b->bytes.c_str() : nullptr; }

int64_t dl4_blob_size(const dl4_blob *b) { return cast(b) ? static_cast<int64_t>(b->bytes.size()) : 0; }
