#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/os/descriptor_posix.hpp"
#include "base/os/processor.hpp"
#include "base/take.hpp"
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace dl4::os {
namespace {

int64_t by_affinity() {
  for (int size = 1024; size <= 1 << 20; size *= 4) {
    cpu_set_t *set = CPU_ALLOC(size);
    if (!set) break;
    size_t bytes = CPU_ALLOC_SIZE(size);
    int count = sched_getaffinity(0, bytes, set) ? 0 : CPU_COUNT_S(bytes, set);
    CPU_FREE(set);
    if (count) return count;
  }
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? online : 1;
}

// Content of a kernel file; "" if it can't be read.
std::string content(const std::string &path) {
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string all;
  char part[4096];
  for (ssize_t n; (n = read(fd, part, sizeof part)) > 0;) all.append(part, static_cast<size_t>(n));
  return all;
}

// Processors that `quota` per `period` allows, rounded up; a large number without a quota.
int64_t worth(std::string_view quota, std::string_view period) {
  int64_t q = 0, p = 0;
  std::from_chars(quota.data(), quota.data() + quota.size(), q);
  std::from_chars(period.data(), period.data() + period.size(), p);
  return q > 0 && p > 0 ? (q - 1) / p + 1 : INT32_MAX;
}

// The smallest quota of the process's control group and its ancestors, for cgroup versions 1 and 2.
int64_t by_quota() {
  int64_t least = INT32_MAX;
  const std::string groups = content("/proc/self/cgroup");
  for (std::string_view rest = groups; !rest.empty();) {
    std::string_view group = take(rest, '\n');  // number:controllers:path
    take(group, ':');
    const std::string controllers(take(group, ':'));
    std::string path(group);
    const bool cpu = ("," + controllers + ",").find(",cpu,") != std::string::npos;
    if (path.empty() || (!cpu && !controllers.empty())) continue;
    std::string root = cpu ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup";
    while (true) {
      if (path == "/") path.clear();
      if (cpu) {
        least = std::min(
            least, worth(content(root + path + "/cpu.cfs_quota_us"), content(root + path + "/cpu.cfs_period_us")));
      } else {
        const std::string max = content(root + path + "/cpu.max");
        std::string_view period = max;
        const std::string_view quota = take(period, ' ');
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

std::string processor_name() {
  const std::string info = content("/proc/cpuinfo");
  for (std::string_view rest = info; !rest.empty();) {
    const std::string_view line = take(rest, '\n');
    for (std::string_view key : {"model name", "Model", "Hardware", "CPU part", "isa"}) {
      if (!line.starts_with(key)) continue;
      const size_t colon = line.find(':');
      if (colon != std::string_view::npos && colon + 2 < line.size()) return std::string(line.substr(colon + 2));
    }
  }
  return "";
}

int64_t processors_allowed() { return std::max<int64_t>(1, std::min(by_affinity(), by_quota())); }

bool has_threads() noexcept { return true; }

Caches caches() noexcept {
  Caches found;
  try {
    for (int i = 0; i < 8; ++i) {
      const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + '/';
      const std::string type = content(folder + "type"), level = content(folder + "level"),
                        size = content(folder + "size");  // "1024K"
      int64_t kib = 0;
      std::from_chars(size.data(), size.data() + size.size(), kib);
      if (type.starts_with("Instruction") || kib <= 0 || kib > INT32_MAX) continue;
      if (level.starts_with('1')) found.first = kib << 10;
      if (level.starts_with('2')) found.second = kib << 10;
      found.last = std::max(found.last, kib << 10);
    }
  } catch (...) {
  }
  return found;
}

size_t current_processor() noexcept {
  const int core = sched_getcpu();
  return core < 0 ? 0 : static_cast<size_t>(core);
}

int64_t thread_number() noexcept { return syscall(SYS_gettid); }

bool keep_off(int64_t thread, size_t core, Affinity &before) noexcept {
  static_assert(sizeof before.bits == sizeof(cpu_set_t));
  const auto id = static_cast<pid_t>(thread);
  cpu_set_t allowed;
  if (core >= CPU_SETSIZE || sched_getaffinity(id, sizeof allowed, &allowed)) return false;  // more than a set holds
  cpu_set_t others = allowed;
  CPU_CLR(core, &others);
  if (!CPU_COUNT(&others) || sched_setaffinity(id, sizeof others, &others)) return false;
  std::memcpy(before.bits, &allowed, sizeof allowed);
  return true;
}

void set_affinity(const Affinity &a) noexcept {
  cpu_set_t allowed;
  std::memcpy(&allowed, a.bits, sizeof allowed);
  sched_setaffinity(0, sizeof allowed, &allowed);
}

bool allow_tiles() noexcept {
#if defined(__x86_64__)
  constexpr int get_permissions = 0x1022, request_permission = 0x1023,
                tile_data = 18;  // arch_prctl code, since Linux 5.16
  unsigned long given = 0;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0 &&
         syscall(SYS_arch_prctl, get_permissions, &given) == 0 && (given >> tile_data & 1) != 0;
#else
  return false;
#endif
}

ArmExtensions arm_extensions() noexcept {
  ArmExtensions found;
#if defined(__aarch64__)
  const unsigned long caps = getauxval(AT_HWCAP);
  found = {(caps & HWCAP_ASIMD) != 0, (caps & HWCAP_CRC32) != 0, (caps & HWCAP_SVE) != 0};
#endif
  return found;
}

}  // namespace dl4::os
