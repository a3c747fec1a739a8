#pragma once
/// \file life_table.hpp
/// Which life of each process may connect to the director's.
#include "runtime/base/result.hpp"
#include "runtime/wire/membership.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <set>

namespace troupe {

/// Threads: all members from any thread.
class LifeTable {
 public:
  /// This life only from now on.
  void expect(const net::ProcessLife& life);
  /// This life, as soon as it comes while none is expected: of a process that is started by hand.
  void give(const net::ProcessLife& life);
  /// Not this life any more.
  void forget(const net::ProcessLife& life);
  /// \errors fenced
  Status admit(const net::ProcessLife& life);

 private:
  std::mutex mutex_;
  std::map<ProcessId, std::uint32_t> lives_;
  std::set<net::ProcessLife> given_;  ///< and not come
};

}  // namespace troupe
