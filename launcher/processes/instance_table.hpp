#pragma once
/// \file instance_table.hpp
/// Which incarnation of each process may connect to the director's.
#include "runtime/base/result.hpp"
#include "runtime/wire/membership.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <set>

namespace troupe {

/// Threads: all members from any thread.
class InstanceTable {
 public:
  /// This incarnation only from now on.
  void expect(const net::ProcessInstance& instance);
  /// This incarnation, as soon as it comes while none is expected: of a process that is started by hand.
  void give(const net::ProcessInstance& instance);
  /// Refuses this incarnation from now on.
  void forget(const net::ProcessInstance& instance);
  /// \errors fenced
  Status admit(const net::ProcessInstance& instance);

 private:
  std::mutex mutex_;
  std::map<ProcessId, std::uint32_t> instances_;
  std::set<net::ProcessInstance> given_;  ///< and not come
};

}  // namespace troupe
