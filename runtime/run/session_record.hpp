#pragma once
/// \file session_record.hpp
/// Record of a run whose ranks run a user program; for the built-in trainer see conductor.hpp.
#include "runtime/run/run_record.hpp"
#include "runtime/wire/messages.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

/// Puts the epochs of all ranks together. The loss of an epoch is not a number: only the program
/// knows it.
/// Threads: one at a time
class SessionRecord {
 public:
  /// \param before  Epochs of a resumed run that are over
  explicit SessionRecord(std::uint32_t world, std::vector<EpochRecord> before = {});

  /// Takes a rank's epoch. \returns the epoch's record once all ranks are in it
  std::optional<EpochRecord> add(const net::RankEpoch& epoch);
  /// Drops what came after `global_step`: the ranks continue from there.
  void go_back(std::uint64_t global_step);
  /// Drops what one rank reported after `global_step`. What the others did stays: they may be there again already.
  void go_back(std::uint64_t global_step, Rank rank);
  /// Epochs that are over, in the order in which they ended.
  std::vector<EpochRecord> epochs() const;
  /// Those of them that were over after `global_step`.
  std::vector<EpochRecord> epochs_at(std::uint64_t global_step) const;

 private:
  using OfRanks = std::map<Rank, net::EpochResult>;
  struct Over {
    std::uint64_t global_step;
    EpochRecord record;
    OfRanks ranks;  ///< Empty: of the run before this one
  };
  const std::uint32_t world_;
  std::vector<Over> over_;  ///< In the order in which they ended
  /// By steps of the run, and the epoch: one without steps ends where the one before did.
  std::map<std::pair<std::uint64_t, std::uint32_t>, OfRanks> under_way_;
};

/// Share of the ranks' time, over all epochs, that they waited for a batch.
double wait_share(const std::vector<EpochRecord>& epochs);

}  // namespace troupe
