// A machine's numbers, from which kernels are chosen, as a user gives them: as dl4 tune measured them.
#pragma once

#include <memory>
#include <string>

#include "base/json.hpp"
#include "base/machine.hpp"

namespace dl4::capi {

// The computed ones of this machine.
Json computed_tuning();
// Those of a file, or of the text itself, which begins with a brace. Refuses those of another machine or version.
std::shared_ptr<const Machine> read_tuning(const std::string &given);

}  // namespace dl4::capi
