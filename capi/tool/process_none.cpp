// Systems without other programs.
#include "system.hpp"

namespace dl4::tool::os {

std::optional<int> run(const std::vector<std::string> &, const std::string &) { return std::nullopt; }

}  // namespace dl4::tool::os
