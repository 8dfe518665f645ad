// Which bodies may be cut by rows.
#pragma once

#include <vector>

#include "ops/program.hpp"

namespace dl4::plan {

// Whether every output of the body has rows (axis 0) that each follow from the same row of the inputs with rows and
// from the other inputs, as far as that is known of its ops. rows: by input.
bool are_rows_apart(const ops::Program &body, const std::vector<bool> &rows);

}  // namespace dl4::plan
