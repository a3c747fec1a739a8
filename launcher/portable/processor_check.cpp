// Compiled for any processor of the architecture, unlike all else, and without the standard library: the linker may take
// functions of its headers from sources that are compiled for more.
#include "launcher/processor_needs.hpp"

#include <cstring>
#include <unistd.h>

namespace troupe {
namespace {

constexpr int usage_error = 2;  // ExitCode::usage

struct Named {
  std::uint32_t feature;
  const char* name;
};
constexpr Named names[] = {
    {feature_avx2, "avx2"},         {feature_fma, "fma"},           {feature_bmi2, "bmi2"},
    {feature_avx512f, "avx512f"},   {feature_avx512bw, "avx512bw"}, {feature_avx512vl, "avx512vl"},
    {feature_avx512dq, "avx512dq"},
};

char refusal[1024];

/// Before any constructor of the program's own.
[[gnu::constructor(101)]] void check_processor() {
  if (const char* text = processor_refusal(compiled_for, processor_features()); text != nullptr) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
    ::_exit(usage_error);
  }
}

}  // namespace

std::uint32_t processor_features() {
  __builtin_cpu_init();
  std::uint32_t found = 0;
  found |= __builtin_cpu_supports("avx2") != 0 ? feature_avx2 : 0U;
  found |= __builtin_cpu_supports("fma") != 0 ? feature_fma : 0U;
  found |= __builtin_cpu_supports("bmi2") != 0 ? feature_bmi2 : 0U;
  found |= __builtin_cpu_supports("avx512f") != 0 ? feature_avx512f : 0U;
  found |= __builtin_cpu_supports("avx512bw") != 0 ? feature_avx512bw : 0U;
  found |= __builtin_cpu_supports("avx512vl") != 0 ? feature_avx512vl : 0U;
  found |= __builtin_cpu_supports("avx512dq") != 0 ? feature_avx512dq : 0U;
  return found;
}

const char* processor_refusal(std::uint32_t needed, std::uint32_t found) {
  if ((needed & ~found) == 0) {
    return nullptr;
  }
  std::strcpy(refusal, "troupe: expected a processor with");
  for (const auto& [feature, name] : names) {
    if ((needed & ~found & feature) != 0) {
      std::strcat(refusal, " ");
      std::strcat(refusal, name);
    }
  }
  std::strcat(
      refusal,
      ", for which this program was compiled, found one without; try: the Debian package or "
      "-DTROUPE_PROCESSOR=x86-64-v3 (any processor with AVX2), -DTROUPE_PROCESSOR= (any), or "
      "build it here\n");
  return refusal;
}

}  // namespace troupe
