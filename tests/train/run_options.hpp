// How the tests of this room run Programs: every plan checked, memory filled with NaN before it is used.
#pragma once

#include <memory>

#include "backend/cpu/kernels/single_threaded.hpp"
#include "base/crew.hpp"
#include "runtime/executable.hpp"

namespace dl4::train {

inline runtime::Options run_options(int threads = 1, bool strict = false) {
  runtime::Options o;
  o.plan.cutting = {threads, strict};
  o.plan.check = true;
  o.fill_nan = true;
  o.crew = std::make_shared<Crew>(threads, kernels::stay_single_threaded);
  return o;
}

}  // namespace dl4::train
