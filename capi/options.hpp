// Bags of values as the core reads them.
#pragma once

#include "border.hpp"

namespace dl4::capi {

// Options and attributes: an object; NULL is an empty one. Refuses tensors, nodes and models, which no option takes.
Json plain(const dl4_attrs *a, const char *argument);
// Call arguments.
graph::Arguments call_arguments(const dl4_attrs *a);

}  // namespace dl4::capi
