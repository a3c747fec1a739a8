#pragma once
/// \file positions_ahead.hpp
/// Base of choices that read whole lists: how many entries they take is known only once they have chosen,
/// so they choose while a reply is planned, which then needs no more memory than its edges.
#include "runtime/base/assert.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/sample/choice/choice.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

class PositionsAhead : public Choice {
 public:
  void plan(StreamKey key, std::span<Stretch> group) final {
    for (auto& stretch : group) {
      const auto before = positions_.size();
      if (takes_all(stretch)) {
        stretch.whole = true;
        stretch.taken = stretch.entries;
      } else {
        find(key, stretch, positions_);
        stretch.taken = static_cast<std::uint32_t>(positions_.size() - before);
        stretch.whole = stretch.taken == 0;
      }
      if (stretch.whole) {
        positions_.resize(before);
      }
    }
  }

  void choose(StreamKey /*key*/, std::span<Stretch> group,
              std::span<std::uint32_t> positions) final {
    std::size_t count = 0;
    for (const auto& stretch : group) {
      count += stretch.taken;
    }
    TROUPE_ASSERT(next_ + count <= positions_.size(), "positions that were planned",
                  positions_.size(), next_, count);
    std::copy_n(positions_.data() + next_, count, positions.data());
    next_ += count;
  }

 private:
  /// Whether all entries are taken as they lie.
  virtual bool takes_all(const Stretch& stretch) const = 0;
  /// Appends the positions taken, ascending, without the excluded ones.
  virtual void find(StreamKey key, const Stretch& stretch,
                    PooledVector<std::uint32_t>& positions) = 0;

  PooledVector<std::uint32_t> positions_;  ///< Of all stretches planned and not whole
  std::size_t next_ = 0;                   ///< Of them, not yet handed out
};

}  // namespace troupe
