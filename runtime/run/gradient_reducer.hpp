#pragma once
/// \file gradient_reducer.hpp
/// Sums the ranks' shares of one slice of a vector in rank order, at the rank that owns the slice.
/// Knows no actors.
#include "runtime/base/even_share.hpp"
#include "runtime/base/result.hpp"
#include "runtime/wire/messages.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

/// The slice of a flat vector that rank `owner` of `world` sums.
constexpr Share gradient_slice(std::size_t num_parameters, std::uint32_t world, Rank owner) {
  return even_share(num_parameters, world, owner);
}

/// Lifecycle:  begin() a step before this rank's own share; the shares of others may come earlier
/// Threads:    one at a time
/// Guarantees: each share counts once, keyed (generation, step, rank); the sum does not depend on
///   the order of arrival
/// Bound:      shares of two steps, because every sum needs a share of every rank; the last sum
class GradientReducer {
 public:
  explicit GradientReducer(std::uint32_t world, std::uint32_t generation = 0)
      : world_(world), generation_(generation) {}

  using Share = std::shared_ptr<const net::GradientChunk>;
  using Sum = std::shared_ptr<const net::GradientSum>;
  /// Completes a sum with what is decided of all shares, in rank order.
  using Decide = std::function<void(std::span<const Share>, net::GradientSum&)>;

  void decide_with(Decide decide) { decide_ = std::move(decide); }
  /// Begins a step and takes the shares of it that came early; gives the sum if they are all.
  /// \param slice   numbers that this rank sums
  /// \param divide  the sum is divided by the total weight
  /// \errors as add()
  Result<std::optional<Sum>> begin(std::uint64_t step, std::size_t slice, bool divide = true);
  /// Takes a share; gives the sum when it was the last one missing, or when that step's sum is
  /// known already (a repeat).
  /// \errors invalid_argument: size, rank or step that cannot be; fenced: an older generation
  Result<std::optional<Sum>> add(const Share& share);

  /// Whether the sum of a step is here.
  bool knows(std::uint64_t step) const;
  /// Shares of a step that this rank has not begun.
  const std::vector<Share>& early() const { return early_; }
  /// [world] whether a rank's share of the step under way is here.
  std::vector<bool> arrived() const;

 private:
  struct Step {
    std::uint64_t number = 0;
    std::size_t slice = 0;
    bool divide = true;
    std::vector<Share> shares;  ///< [world]
    Sum sum;                    ///< null: shares are missing
  };
  Error refused(const net::GradientChunk& share, const char* why) const;
  void keep_early(const Share& share);
  Result<std::optional<Sum>> take(const Share& share);
  Sum sum_of(const Step& step) const;

  std::uint32_t world_;
  std::uint32_t generation_;
  Decide decide_;
  std::optional<Step> step_;
  Sum last_;  ///< Of the step before
  std::vector<Share> early_;
};

}  // namespace troupe
