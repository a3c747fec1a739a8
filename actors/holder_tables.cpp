#include "actors/holder_tables.hpp"

#include "actors/ask_replicas.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <optional>
#include <thread>
#include <vector>

namespace troupe {
namespace {

/// Replaced ones have other addresses.
std::vector<caf::actor_addr> holders_of(const LearnedRowsLinks& links) {
  std::vector<caf::actor_addr> addresses;
  for (const auto& replicas : links.holders) {
    for (const auto& find : replicas->actors) {
      const auto holder = find();
      addresses.push_back(holder ? holder.address() : caf::actor_addr());
    }
  }
  return addresses;
}

Status load_once(caf::scoped_actor& self, const LearnedRowsLinks& links, const TableSource& from,
                 std::uint64_t step) {
  const auto send = [&](CopyPiece piece) -> Status {
    piece.step = step;
    const Ref<LoadCopy> message(LoadCopy{std::move(piece)});
    for (const auto& replicas : links.holders) {
      TROUPE_RETURN_IF_ERROR(tell_every(self, *replicas, message));
    }
    return ok_status();
  };
  for (std::uint32_t part = 0; part < from.parts(); ++part) {
    TROUPE_RETURN_IF_ERROR(from.read(part, [&](const CopyPiece& piece) {
      auto more = piece;
      more.last = false;
      return send(std::move(more));
    }));
  }
  return send({.last = true});
}

}  // namespace

Status HolderTables::read(std::uint32_t part, const Take& take) const {
  if (part >= links_.holders.size()) {
    return Error(Errc::internal, fmt::format("learned rows: expected holders of {} parts, found {}",
                                             parts(), links_.holders.size()));
  }
  const auto& replicas = *links_.holders[part];
  caf::scoped_actor self(system_);
  for (const auto& table : links_.plan->tables) {
    const auto row_bytes =
        sizeof(std::uint64_t) + sizeof(float) * (2 * table.dim + sparse_state_cols(table));
    ReadCopy what{.step = step_,
                  .node_type = table.node_type,
                  .first = 0,
                  .count = std::max<std::uint64_t>(1, table_piece_bytes / row_bytes)};
    for (bool ended = false; !ended; what.first += what.count) {
      TROUPE_ASSIGN_OR_RETURN(const auto piece, ask_any<CopyPiece>(self, replicas, what));
      ended = piece->last || piece->ids.empty();
      TROUPE_RETURN_IF_ERROR(take(*piece));
    }
  }
  return ok_status();
}

Status load_tables(caf::actor_system& system, const LearnedRowsLinks& links,
                   const TableSource& from, std::uint64_t step) {
  constexpr std::chrono::milliseconds longest_wait{3000};
  constexpr std::chrono::milliseconds pause{20};
  caf::scoped_actor self(system);
  std::optional<std::chrono::steady_clock::time_point> give_up;
  for (;;) {
    const auto before = holders_of(links);
    auto loaded = load_once(self, links, from, step);
    if (holders_of(links) != before) {
      loaded = Error(Errc::peer_lost, "a holder was lost while it got learned rows");
    }
    const auto now = std::chrono::steady_clock::now();
    if (loaded || loaded.error().code() != Errc::peer_lost || now > give_up.value_or(now)) {
      return loaded;
    }
    give_up = give_up.value_or(now + longest_wait);
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace troupe
