// Calls into the host program. Its functions may throw or call the library again. If one ends its thread (pthread_exit,
// an interpreter that exits), the C library unwinds the stack through every frame that is not noexcept.
#pragma once

#include "base/error.hpp"
#include "base/float_mode.hpp"

#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

namespace dl4 {

// Calls f(). If it throws, calls otherwise(what); an exception that is no std::exception gives "an exception of an
// unknown type".
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

// Calls f(), the host's `function` ("progress function"), of the registered kind `kind` if there is one. An exception
// becomes CALLBACK_FAILED.
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

// Calls f(), which returns something to the host. Exceptions are dropped, since no call has failed.
template <class F>
void give_back(F &&f) {
  call_host_or(std::forward<F>(f), [](const char *) {});
}

}  // namespace dl4
