// Rewrites of a Program at known shapes. Each keeps its meaning, has a name and can be switched off by it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/program.hpp"

namespace dl4::plan {

void unroll_scans(ops::Program &p);     // a scan of one step becomes its body
void drop_dead(ops::Program &p);        // steps that no output, write or check needs
void drop_identities(ops::Program &p);  // steps that move nothing at these shapes, like a broadcast to the same
void merge_equal(ops::Program &p);      // equal steps become one
void fold_constants(ops::Program &p);   // steps that read constants alone become constants
void keep_rows(ops::Program &p);        // the gradient of a table of which few rows are used goes to the update as rows
void fold_padding(ops::Program &p);     // zeros around what a convolution alone reads become its padding
void fuse_epilogues(ops::Program &p);   // bias and activation go into what makes their source

// No pass, at any shapes: of a Program that is differentiated no more what says where gradients go is left out, with
// what was computed for it alone.
void drop_straight_through(ops::Program &p);
// No pass: sums over workers whose numbers no output and no write needs, but at most their shapes, become their
// sources.
void leave_unread_sums(ops::Program &p);

struct Pass {
  const char *name;
  void (*run)(ops::Program &);
};
// In the order they run.
std::span<const Pass> passes();
// Names of all passes, with those of the placement ("in_place", "join_parts") and of sessions ("fold_weights").
std::vector<std::string> pass_names();

// Runs all passes but those named in `off`; with `check`, verifies the Program after each.
void run_passes(ops::Program &p, std::span<const std::string> off, bool check);

}  // namespace dl4::plan
