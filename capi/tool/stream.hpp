// A model run on what comes from standard input, step by step.
#pragma once

#include "models.hpp"

namespace dl4::tool {

// Reads steps of the model's input, float32 or a WAV file of 16 bits, until they end, and writes the output: of a
// sequence as it comes, in the same form, else the floats of the last step. scale: what the numbers are multiplied by.
void run_stream(const Model &m, double scale);

}  // namespace dl4::tool
