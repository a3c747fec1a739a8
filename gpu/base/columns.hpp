#pragma once
/// \file columns.hpp
/// Columns that one access to memory moves.
#include "gpu/base/shared.hpp"

namespace troupe::gpu {

/// Neighboring columns of a row.
template <class T, unsigned Width>
struct alignas(sizeof(T) * Width) Columns {
  T of[Width];
};
template <unsigned Width>
using Floats = Columns<float, Width>;

/// \param at  aligned to Width elements
template <unsigned Width, class T>
TROUPE_HD Columns<T, Width> read_columns(const T* at) {
  return *reinterpret_cast<const Columns<T, Width>*>(at);
}
template <class T, unsigned Width>
TROUPE_HD void write_columns(T* at, const Columns<T, Width>& values) {
  *reinterpret_cast<Columns<T, Width>*>(at) = values;
}
/// What is at `at` becomes `values`, or grows by them.
template <unsigned Width>
TROUPE_HD void put_columns(float* at, const Floats<Width>& values, bool add) {
  Floats<Width> result = values;
  if (add) {
    const auto before = read_columns<Width>(at);
    TROUPE_UNROLL
    for (unsigned w = 0; w < Width; ++w) {
      result.of[w] = before.of[w] + values.of[w];
    }
  }
  write_columns(at, result);
}

}  // namespace troupe::gpu
