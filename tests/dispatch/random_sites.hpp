// Random sites of a family of kernels: each kernel that may compute one, our own and another library's, is compared
// with sums in double.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/dispatch/libraries.hpp"
#include "harness/random_sizes.hpp"
#include "kernels/run_kernel.hpp"

namespace dl4::dispatch::testing {

using kernels::testing::Guarded;

using Random = dl4_test::RandomSizes;

// What is computed: a kernel's arguments, the last of which are its destinations, and what these should get.
struct Wanted {
  std::vector<void *> sources;
  std::vector<std::vector<double>> dst;  // empty: that no one reads
  double terms = 1;                      // of a sum: what the rounding grows with
};

// What happened: sites by kernel, with what was wrong.
class Tally {
 public:
  explicit Tally(std::vector<std::string> names) : names_(std::move(names)) {}

  // The kernel of each name at a site where nothing else is on: make(site) is compared with what is wanted.
  void check(const std::string &what, Random &random, const Wanted &wanted,
             const std::function<std::unique_ptr<kernels::Kernel>(const Site &)> &make) {
    const int threads = static_cast<int>(random.in(1, 4));
    for (const std::string &name : names_) {
      std::vector<std::string> off = names_;
      std::erase(off, name);
      Site site;
      site.off = off;
      site.cutting.threads = threads, site.cutting.least = 1e-9;
      const auto kernel = make(site);
      const std::string_view word = std::string_view(kernel->name).substr(0, kernel->name.find_first_of(" ,"));
      if (word != name) continue;  // the last resort
      ++sites_[name];
      run(name, *kernel, what, wanted);
    }
  }
  int64_t sites(const std::string &name) const {
    const auto found = sites_.find(name);
    return found == sites_.end() ? 0 : found->second;
  }
  // Sites of the kernel of another library that has the fewest.
  int64_t fewest(const std::vector<std::string> &of) const {
    int64_t least = INT64_MAX;
    for (const std::string &name : of) least = std::min(least, sites(name));
    return least;
  }
  void report() const {
    for (const auto &[name, n] : sites_) {
      const auto found = wrong_.find(name);
      std::printf("%10lld sites of %s\n", static_cast<long long>(n), name.c_str());
      EXPECT_EQ(found == wrong_.end() ? 0 : found->second, 0) << "wrong sites of " << name << ", of " << n;
    }
  }

 private:
  void run(const std::string &name, const kernels::Kernel &kernel, const std::string &what, const Wanted &wanted) {
    SCOPED_TRACE(kernel.name + ": " + what);
    std::vector<void *> args = wanted.sources;
    std::vector<Guarded> got;
    got.reserve(wanted.dst.size());
    for (const auto &want : wanted.dst) {
      got.emplace_back(static_cast<int64_t>(want.size()));
      args.push_back(want.empty() ? nullptr : got.back().begin());
    }
    const auto fault = run_kernel(kernel, args, kernels::testing::Who::caller, static_cast<int>(wanted.dst.size()));
    std::string wrong = fault == kernels::Fault::none ? "" : "it reports a fault";
    for (size_t i = 0; i < got.size() && wrong.empty(); ++i) {
      const auto same = near(got[i], wanted.dst[i], 1e-5 + 3e-7 * wanted.terms);
      if (!same) wrong = same.message();
    }
    if (wrong.empty()) return;
    if (++wrong_[name] <= most_told) ADD_FAILURE() << wrong;
  }

  static constexpr int64_t most_told = 30;
  std::vector<std::string> names_;
  std::map<std::string, int64_t> sites_, wrong_;
};

// Those of `names` that are another library's and that are used on this processor at all.
inline std::vector<std::string> of_libraries(const std::vector<std::string> &names) {
  std::vector<std::string> found;
  for (const Library *library : libraries())
    for (const std::string &name : names)
      if (name.starts_with(library->prefix) && library->unused().empty()) found.push_back(name);
  return found;
}

// try_site(tally, random) for random sites until each kernel of `counted` had `count` of them, or, as some apply to
// few, until twelve times as many were tried.
inline void check_sites(Tally &tally, const std::vector<std::string> &counted, int64_t count,
                        const std::function<void(Tally &, Random &)> &try_site) {
  const uint64_t run = static_cast<uint64_t>(::testing::UnitTest::GetInstance()->random_seed());  // of --gtest_shuffle
  const int64_t most = counted.empty() ? count : 12 * count;
  for (int64_t i = 0; i < most && (counted.empty() || tally.fewest(counted) < count); ++i) {
    const uint64_t seed = run * 0x9E3779B97F4A7C15 + static_cast<uint64_t>(i) * 2654435761;
    Random random(static_cast<uint32_t>(seed ^ (seed >> 32)));
    try_site(tally, random);
  }
  tally.report();
  EXPECT_GE(counted.empty() ? count : tally.fewest(counted), count);
}

}  // namespace dl4::dispatch::testing
