// Reads what Linux says about the processor and its limits.
#include "base/cpu.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <vector>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace dl4::cpu {
namespace {

int by_affinity() {
  for (int size = 1024; size <= 1 << 20; size *= 4) {
    cpu_set_t *set = CPU_ALLOC(size);
    if (!set) break;
    size_t bytes = CPU_ALLOC_SIZE(size);
    int count = sched_getaffinity(0, bytes, set) ? 0 : CPU_COUNT_S(bytes, set);
    CPU_FREE(set);
    if (count) return count;
  }
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<int>(online) : 1;
}

// Processors that a quota of `quota` in every `period` is worth, rounded up; a large number when there is no quota.
int64_t worth(const std::string &quota, const std::string &period) {
  int64_t q = 0, p = 0;
  std::istringstream(quota) >> q;
  std::istringstream(period) >> p;
  return q > 0 && p > 0 ? (q + p - 1) / p : INT32_MAX;
}

std::string word(std::ifstream f) {
  std::string w;
  f >> w;
  return w;
}

// The smallest quota of the process's control group and those above it, in both versions of control groups.
int64_t by_quota() {
  int64_t least = INT32_MAX;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    bool cpu = ("," + controllers + ",").find(",cpu,") != std::string::npos;
    if (!cpu && !controllers.empty()) continue;
    std::string root = cpu ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup";
    while (true) {
      if (path == "/") path.clear();
      if (cpu) {
        least = std::min(least, worth(word(std::ifstream(root + path + "/cpu.cfs_quota_us")),
                                      word(std::ifstream(root + path + "/cpu.cfs_period_us"))));
      } else {
        std::ifstream max(root + path + "/cpu.max");
        std::string quota, period;
        max >> quota >> period;
        least = std::min(least, worth(quota, period));
      }
      size_t slash = path.rfind('/');
      if (slash == std::string::npos) break;
      path.resize(slash);
    }
  }
  return least;
}

}  // namespace

std::string name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    for (const char *key : {"model name", "Model", "Hardware", "CPU part"}) {
      if (line.rfind(key, 0) != 0) continue;
      size_t colon = line.find(':');
      if (colon != std::string::npos && colon + 2 < line.size()) return line.substr(colon + 2);
    }
  }
  return "";
}

std::string isa() {
  std::vector<const char *> found;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("sse4.2")) found.push_back("sse4.2");
  if (__builtin_cpu_supports("avx")) found.push_back("avx");
  if (__builtin_cpu_supports("fma")) found.push_back("fma");
  if (__builtin_cpu_supports("avx2")) found.push_back("avx2");
  if (__builtin_cpu_supports("avx512f")) found.push_back("avx512f");
  if (__builtin_cpu_supports("avx512vnni")) found.push_back("avx512vnni");
#elif defined(__aarch64__)
  unsigned long caps = getauxval(AT_HWCAP);
  if (caps & (1ul << 1)) found.push_back("asimd");
  if (caps & (1ul << 22)) found.push_back("sve");
#endif
  std::string all;
  for (const char *f : found) all += (all.empty() ? "" : " ") + std::string(f);
  return all;
}

Type type() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx512f")) return Type::avx2;
  return __builtin_cpu_is("intel") ? Type::intel_avx512 : Type::avx512;
#else
  return Type::neon;
#endif
}

int64_t first_cache_ways() noexcept {
#ifdef _SC_LEVEL1_DCACHE_SIZE
  return std::max<int64_t>(0, sysconf(_SC_LEVEL1_DCACHE_SIZE)) / 4096;  // a way is a page
#else
  return 0;
#endif
}

size_t current() noexcept {
  const int core = sched_getcpu();
  return core < 0 ? 0 : static_cast<size_t>(core);
}

int cores_available() { return static_cast<int>(std::max<int64_t>(1, std::min<int64_t>(by_affinity(), by_quota()))); }

}  // namespace dl4::cpu
