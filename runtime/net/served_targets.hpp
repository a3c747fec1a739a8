#pragma once
/// \file served_targets.hpp
/// The serving half of a link as a table: what is exported to the peer at which address, and which of
/// the peer's requests have no answer yet. Knows no actors.
#include "runtime/net/frame.hpp"
#include "runtime/net/request_table.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::net {

/// \tparam Handle what a request is handed to
/// Threads:    one at a time
/// Guarantees: each open request is given out once, by end() or among the orphans of its target
template <class Handle>
class ServedTargets {
 public:
  struct Exported {
    std::uint64_t incarnation = 0;     ///< Counts exports at the address, from 1
    std::vector<FrameHeader> orphans;  ///< Open requests to the handle before it
  };
  /// Exports a handle, in the place of the one before.
  Exported put(std::uint64_t target, Handle handle) {
    const auto incarnation = ++incarnations_[target];
    exports_.insert_or_assign(target, Export{std::move(handle), incarnation});
    return {incarnation, take_orphans(target)};
  }
  /// Removes a handle whose actor has ended; its open requests. Nothing: another has taken its place.
  std::optional<std::vector<FrameHeader>> remove(std::uint64_t target, std::uint64_t incarnation) {
    const auto found = exports_.find(target);
    if (found == exports_.end() || found->second.incarnation != incarnation) {
      return std::nullopt;
    }
    exports_.erase(found);
    return take_orphans(target);
  }

  /// Opens a request. Nothing: there is no such target.
  std::optional<Handle> begin(const FrameHeader& request) {
    const auto found = exports_.find(request.target);
    if (found == exports_.end()) {
      return std::nullopt;
    }
    if (auto* const again = open_.find(request.request)) {
      *again = request;
    } else {
      open_.insert(request.request, FrameHeader(request));
    }
    return found->second.handle;
  }
  /// Closes a request that is to be answered. Nothing: it is closed already.
  std::optional<FrameHeader> end(std::uint64_t request) {
    return open_.find(request) != nullptr ? std::optional(open_.take(request)) : std::nullopt;
  }

  /// Removes all; open requests get no answer. The handles are returned, so that
  /// the caller can drop them outside its lock.
  std::vector<Handle> clear() {
    std::vector<Handle> handles;
    for (auto& [target, one] : std::exchange(exports_, {})) {
      handles.push_back(std::move(one.handle));
    }
    open_ = {};
    return handles;
  }

 private:
  struct Export {
    Handle handle;
    std::uint64_t incarnation = 0;
  };
  /// In the order of their numbers: frames are sent for them.
  std::vector<FrameHeader> take_orphans(std::uint64_t target) {
    std::vector<FrameHeader> orphans;
    open_.for_each([&](std::uint64_t /*id*/, const FrameHeader& head) {
      if (head.target == target) {
        orphans.push_back(head);
      }
    });
    std::ranges::sort(orphans, {}, &FrameHeader::request);
    for (const auto& head : orphans) {
      open_.take(head.request);
    }
    return orphans;
  }

  std::map<std::uint64_t, Export> exports_;
  std::map<std::uint64_t, std::uint64_t> incarnations_;  ///< Last one at each address
  RequestTable<FrameHeader> open_;
};

}  // namespace troupe::net
