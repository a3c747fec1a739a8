#pragma once
/// \file gradient_reducer.hpp
/// Sums the ranks' shares of one chunk of the gradient in rank order, at the rank that owns the
/// chunk. Knows no actors.
#include "runtime/base/even_share.hpp"
#include "runtime/base/result.hpp"
#include "runtime/net/messages.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace troupe {

/// The slice of a flat gradient that rank `owner` of `world` sums.
constexpr Share gradient_slice(std::size_t num_parameters, std::uint32_t world, Rank owner) {
  return even_share(num_parameters, world, owner);
}

/// Threads:    one at a time
/// Guarantees: each share counts once, keyed (generation, step, rank); the sum does not depend on
///   the order of arrival
/// Bound:      shares of two steps: a rank can be at most one step ahead of another
class GradientReducer {
 public:
  /// \param divide  the sum is divided by the total weight
  GradientReducer(std::uint32_t world, std::size_t chunk_size, std::uint32_t generation = 0,
                  bool divide = true)
      : world_(world), chunk_size_(chunk_size), generation_(generation), divide_(divide) {}

  using Sum = std::shared_ptr<const net::GradientSum>;
  /// Takes a share; gives the sum when it was the last one missing, or when that step's sum is
  /// known already (a repeat).
  /// \errors invalid_argument: size, rank or step that cannot be; fenced: an older generation
  Result<std::optional<Sum>> add(const std::shared_ptr<const net::GradientChunk>& share);

 private:
  Sum sum(std::uint64_t step,
          const std::vector<std::shared_ptr<const net::GradientChunk>>& shares) const;

  std::uint32_t world_;
  std::size_t chunk_size_;
  std::uint32_t generation_;
  bool divide_;
  std::map<std::uint64_t, std::vector<std::shared_ptr<const net::GradientChunk>>> waiting_;
  Sum last_;
};

}  // namespace troupe
