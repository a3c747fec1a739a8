#include "bench/system/hardware.hpp"

#include "launcher/version.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

namespace troupe::bench {
namespace {

/// The value of the first line of /proc/cpuinfo with this key.
std::string cpu_info(const std::string& key) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with(key) && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

}  // namespace

nlohmann::ordered_json hardware_json() {
  utsname system{};
  uname(&system);
  const bool avx512 = cpu_info("flags").find("avx512f") != std::string::npos;
  return {{"cpu", cpu_info("model name")},
          {"cpu_family", cpu_info("cpu family")},
          {"cpu_model", cpu_info("model\t")},
          {"mhz", cpu_info("cpu MHz")},
          {"cache", cpu_info("cache size")},
          {"avx512", avx512},
          {"cores", std::thread::hardware_concurrency()},
          {"memory_bytes", static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                               static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))},
          {"kernel", system.release}};
}

nlohmann::ordered_json build_json() {
  const auto build = build_info();
  return {{"version", build.version},
          {"compiler", build.compiler},
          {"build_type", build.build_type},
          {"flags", TROUPE_BENCH_FLAGS},
          {"sampling_version", sampling_version}};
}

}  // namespace troupe::bench
