#include "launcher/processor_needs.hpp"

namespace troupe {

// A constant: it is there before any code runs.
const std::uint32_t compiled_for = 0U
#ifdef __AVX2__
                                   | feature_avx2
#endif
#ifdef __FMA__
                                   | feature_fma
#endif
#ifdef __BMI2__
                                   | feature_bmi2
#endif
#ifdef __AVX512F__
                                   | feature_avx512f
#endif
#ifdef __AVX512BW__
                                   | feature_avx512bw
#endif
#ifdef __AVX512VL__
                                   | feature_avx512vl
#endif
#ifdef __AVX512DQ__
                                   | feature_avx512dq
#endif
    ;

}  // namespace troupe
