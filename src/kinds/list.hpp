// The one list of built-in kinds: a line each, in the order the registry shows them.
#pragma once

#define DL4_KINDS(X) \
  X(Dense)
