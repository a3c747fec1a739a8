#pragma once
/// \file labor.hpp
/// Layer-neighbor sampling: lists that share neighbors take the same ones.
#include "runtime/sample/choice/choice.hpp"

#include <memory>

namespace troupe {

/// LABOR-0 (Balın and Çatalyürek, "Layer-Neighbor Sampling", NeurIPS 2023) as decision 0030 defines it:
/// of more than `fanout` entries those are taken whose neighbor's word is below fanout · 2^32 / entries,
/// rounded down; of fewer all. The word is the first one of the stream of the neighbor's original id, so
/// a batch has fewer distinct nodes than with the uniform choice. The number of entries taken is the
/// fanout in expectation only.
/// \cost  reads whole lists
std::unique_ptr<Choice> make_labor(const ChoiceOptions& options);

/// The positions that LABOR takes of one list: ascending; they replace the contents of `out`. The
/// definition; the choice computes several words at once.
/// \param originals  of the neighbors
void labor_positions(StreamKey key, std::span<const std::uint64_t> originals, std::uint32_t tree,
                     std::uint32_t fanout, std::vector<std::uint32_t>& out);

}  // namespace troupe
