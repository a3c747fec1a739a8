#include "actors/holder_tables.hpp"

#include "actors/ask_replicas.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {

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
  caf::scoped_actor self(system);
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

}  // namespace troupe
