#pragma once
/// \file epoch_counters.hpp
/// Sums of an epoch's counters, for the built-in trainer and for sessions.
#include "runtime/feature/ready_batch.hpp"
#include "runtime/wire/messages.hpp"

namespace troupe {

/// Counts one batch as trained.
void count_batch(net::EpochCounters& counters, const ReadyBatch& ready);

void add_counters(net::EpochCounters& to, const net::EpochCounters& more);

}  // namespace troupe
