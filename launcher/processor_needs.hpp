#pragma once
/// \file processor_needs.hpp
/// Instruction sets that the program was compiled for, and those that this processor has.
#include <cstdint>

namespace troupe {

/// Bits of a set of instruction sets.
enum ProcessorFeature : std::uint32_t {
  feature_avx2 = 1U << 0U,
  feature_fma = 1U << 1U,
  feature_bmi2 = 1U << 2U,
  feature_avx512f = 1U << 3U,
  feature_avx512bw = 1U << 4U,
  feature_avx512vl = 1U << 5U,
  feature_avx512dq = 1U << 6U,
};

/// Those that the compiler was told it may use (-march).
extern const std::uint32_t compiled_for;

/// Those of this processor that its operating system lets programs use.
std::uint32_t processor_features();

/// What the program says, with a line's end, before it ends where features are missing; nullptr where
/// none is. Valid until the next call.
const char* processor_refusal(std::uint32_t needed, std::uint32_t found);

}  // namespace troupe
