// Cancel flags.
#include "border.hpp"

using namespace dl4::capi;

dl4_error *dl4_cancel_create(dl4_cancel **out) {
  return produce(__func__, out, [&] { return new dl4_cancel; });
}

void dl4_cancel_trigger(dl4_cancel *c) {
  if (cast(c)) c->triggered.store(1, std::memory_order_relaxed);
}

int32_t dl4_cancel_triggered(const dl4_cancel *c) { return cast(c) ? c->triggered.load(std::memory_order_relaxed) : 0; }
