// The list of kernels that can be switched off, against the sources that choose among them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "ops/op.hpp"

namespace dl4::ops {
namespace {

TEST(KernelNames, AreTheCandidatesOfAllLists) {
  const std::regex list(R"(choose\(site, \{([^;]*);)"), name("\\{\"(\\w+)\",");
  std::set<std::string> candidates;
  for (const auto &file : std::filesystem::directory_iterator(DL4_SOURCE_DIR "/src/ops")) {
    std::ifstream in(file.path());
    const std::string source{std::istreambuf_iterator<char>(in), {}};
    for (std::sregex_iterator at(source.begin(), source.end(), list), end; at != end; ++at) {
      std::vector<std::string> names;
      const std::string body = at->str(1);
      for (std::sregex_iterator n(body.begin(), body.end(), name); n != end; ++n) names.push_back(n->str(1));
      ASSERT_GE(names.size(), 2u) << file.path() << ": " << body;
      names.pop_back();  // the last one can't be switched off
      candidates.insert(names.begin(), names.end());
    }
  }
  const auto &known = kernel_names();
  EXPECT_EQ(candidates, std::set<std::string>(known.begin(), known.end()));
  EXPECT_GE(candidates.size(), 5u);
}

}  // namespace
}  // namespace dl4::ops
