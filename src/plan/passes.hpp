// Rewrites of a Program at known shapes. Each preserves its meaning and can be switched off by name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/program.hpp"

namespace dl4::plan {

struct PlanStep;

void unroll_scans(ops::Program &p);     // replaces a scan of one step by its body
void drop_dead(ops::Program &p);        // removes steps that no output, write or check needs
void drop_identities(ops::Program &p);  // removes steps without effect at these shapes, like a broadcast to the same
void merge_equal(ops::Program &p);      // merges equal steps
void fold_constants(ops::Program &p);   // evaluates steps that read only constants
void keep_rows(ops::Program &p);        // passes the gradient of a table as rows to the update, if few rows are used
void fold_padding(ops::Program &p);     // turns zero padding that only a convolution reads into its padding
void fuse_epilogues(ops::Program &p);   // fuses bias and activation into the step before

// Not in the list of passes, works at any shapes: drop_dead, except for values whose shapes are read.
void drop_unread(ops::Program &p);
// Not in the list of passes, works at any shapes: removes ops that redirect gradients from a Program that will not be
// differentiated again, with all that only they needed.
void drop_straight_through(ops::Program &p);
// Not in the list of passes: replaces sums over workers by their sources if no output or write needs the sums' values,
// though perhaps their shapes.
void leave_unread_sums(ops::Program &p);

// Not in the list of passes: joins steps on rows of few channels into one kernel. The steps, in order, have kernels but
// no arguments yet; steps that compute nothing are removed. A joined step lists the values that are its arguments;
// other values of its steps need no memory. Results keep their bits.
void join_rows(const ops::Program &p, std::vector<PlanStep> &steps);

struct Pass {
  const char *name;
  void (*run)(ops::Program &);
};
// In the order in which they run.
std::span<const Pass> passes();
// Names of all passes, of placement rules ("in_place", "join_parts") and of a session's ("fold_weights").
std::vector<std::string> pass_names();

// Runs all passes not named in `off`; `check` verifies the Program after each.
void run_passes(ops::Program &p, std::span<const std::string> off, bool check);

}  // namespace dl4::plan
