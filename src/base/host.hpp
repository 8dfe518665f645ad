// Functions of the host program. They may throw or call the library again. Where one ends its thread (pthread_exit, an
// interpreter that exits), the C library unwinds the stack through every frame that is not noexcept.
#pragma once

#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/float_mode.hpp"

#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

namespace dl4 {

// f(), a call of the host; otherwise(what) of what it throws: "an exception of an unknown type" is no std::exception.
template <class F, class Otherwise>
auto call_host_or(F &&f, Otherwise &&otherwise) -> decltype(f()) {
  OwnFloats floats;
  try {
    return f();
#if defined(__GLIBCXX__)
  } catch (abi::__forced_unwind &) {
    throw;
#endif
  } catch (const std::exception &e) {
    return otherwise(e.what());
  } catch (...) {
    return otherwise("an exception of an unknown type");
  }
}

// What comes of f(), a call of the host's `function` ("progress function"), of the kind of that name if it is one's.
// What it throws becomes CALLBACK_FAILED.
template <class F>
auto call_host(const char *function, const std::string &kind, F &&f) -> decltype(f()) {
  return call_host_or(std::forward<F>(f), [&](const char *what) -> decltype(f()) {
    const std::string of = kind.empty() ? "" : text(" of \"", kind, '"');
    throw Error(Code::callback_failed, text("the ", function, of, " threw ", what)).with("callback", function);
  });
}
template <class F>
auto call_host(const char *function, F &&f) -> decltype(f()) {
  return call_host(function, std::string(), std::forward<F>(f));
}

// f() gives something back to the host. What it throws is dropped: no call has failed.
template <class F>
void give_back(F &&f) {
  call_host_or(std::forward<F>(f), [](const char *) {});
}

}  // namespace dl4
