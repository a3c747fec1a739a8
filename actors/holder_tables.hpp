#pragma once
/// \file holder_tables.hpp
/// Copies of learned rows at the holders, read for a checkpoint and put back from one. Both block: they
/// are for threads that may, such as the director's for the disk.
#include "actors/learned_rows.hpp"
#include "runtime/run/table_source.hpp"

#include <caf/fwd.hpp>

#include <cstdint>
#include <memory>

namespace troupe {

/// The copies that holders keep of a step.
class HolderTables final : public TableSource {
 public:
  HolderTables(caf::actor_system& system, LearnedRowsLinks links, std::uint64_t step)
      : system_(system), links_(std::move(links)), step_(step) {}
  std::uint32_t parts() const override { return links_.book->parts(); }
  /// \errors not_found: the copy is no longer there; those of the way to the holder
  Status read(std::uint32_t part, const Take& take) const override;

 private:
  caf::actor_system& system_;
  LearnedRowsLinks links_;
  std::uint64_t step_;
};

/// Gives every holder the rows of a copy that it owns. One that is lost meanwhile gets them from the first on once it is
/// started again, if that is within 3 s of the loss.
/// \errors data_corruption: rows that do not fit or are missing; peer_lost: a holder; those of the source
///   and of the way
Status load_tables(caf::actor_system& system, const LearnedRowsLinks& links,
                   const TableSource& from, std::uint64_t step);

}  // namespace troupe
