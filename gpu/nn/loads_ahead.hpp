#pragma once
/// \file loads_ahead.hpp
/// Loops over elements in their order, whose loads do not wait for each other: what is loaded for some
/// elements together lies in registers before the first of it is used.
#include "gpu/base/shared.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::gpu {

/// The first `count` of a batch of elements, in three steps: places, loads, uses.
template <unsigned Batch, class Index, class Place, class Load, class Use>
TROUPE_HD void take_batch(Index first, Index count, const Place& place, const Load& load,
                          const Use& use) {
  using At = decltype(place(first));
  using Value = decltype(load(first, place(first)));
  At places[Batch] = {};
  Value values[Batch] = {};
  TROUPE_UNROLL
  for (unsigned k = 0; k < Batch; ++k) {
    if (k < count) {
      places[k] = place(first + k);
    }
  }
  TROUPE_UNROLL
  for (unsigned k = 0; k < Batch; ++k) {
    if (k < count) {
      values[k] = load(first + k, places[k]);
    }
  }
  TROUPE_UNROLL
  for (unsigned k = 0; k < Batch; ++k) {
    if (k < count) {
      use(first + k, values[k]);
    }
  }
}

/// use(k, load(k, place(k))) for k in [begin, end), in this order.
/// \tparam Batch  elements whose loads are issued together: as many as registers and the length of
///   usual loops allow
/// \tparam Rest   the same for what is left in the end
template <unsigned Batch, unsigned Rest, class Index, class Place, class Load, class Use>
TROUPE_HD void gather_in_order(Index begin, Index end, const Place& place, const Load& load,
                               const Use& use) {
  Index left = end - begin;
  for (; left >= Batch; left -= Batch) {
    take_batch<Batch>(end - left, Index{Batch}, place, load, use);
  }
  while (left > 0) {
    const Index count = left < Rest ? left : Index{Rest};
    take_batch<Rest>(end - left, count, place, load, use);
    left -= count;
  }
}

/// The same for elements that lie where their number says: use(k, load(k)).
template <unsigned Batch, unsigned Rest, class Index, class Load, class Use>
TROUPE_HD void in_order(Index begin, Index end, const Load& load, const Use& use) {
  gather_in_order<Batch, Rest>(
      begin, end, [](Index k) { return k; },
      [&load](Index /*k*/, Index place) { return load(place); }, use);
}

}  // namespace troupe::gpu
