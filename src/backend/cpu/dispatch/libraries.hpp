// Optional libraries, and the candidates each adds.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/dispatch/candidates.hpp"

namespace dl4::dispatch {

struct Library {
  const char *name;
  const char *prefix;                                 // of its kernels' names
  std::string (*description)();                       // of the loaded library
  const std::string &(*unused)();                     // why its candidates never apply: "for ..."; "" if they do
  std::shared_ptr<void> (*while_making)() = nullptr;  // held while kernels are made
  std::span<const Candidate<Product>> products = {};
  std::span<const Candidate<ConvAt>> conv = {}, conv_data = {}, conv_weights = {};
  std::span<const Candidate<LstmAt>> lstm = {};
};
extern const Library onednn, openblas;  // if in the build

// Those of this build.
std::span<const Library *const> libraries();

// Our candidates and theirs.
template <class At>
std::vector<Candidate<At>> with_libraries(std::span<const Candidate<At>> own,
                                          std::span<const Candidate<At>> Library::*theirs) {
  std::vector<Candidate<At>> all;
  for (const Library *library : libraries())
    all.insert(all.end(), (library->*theirs).begin(), (library->*theirs).end());
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

}  // namespace dl4::dispatch
