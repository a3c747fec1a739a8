#pragma once
/// \file scripted_host.hpp
/// A host with the first part of a cut graph, whose other parts are behind scripted holders.
#include "actors/host_context.hpp"
#include "actors/replica_client.hpp"
#include "runtime/feature/row_request.hpp"
#include "tests/actors/scripted_system.hpp"
#include "tests/runtime/sample/drive.hpp"
#include "tests/support/expect.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace troupe::testing {

/// Of one part, nearest first. A loss is waited for during one second.
inline std::shared_ptr<const Replicas> replicas_of(const std::vector<caf::actor>& holders,
                                                   std::chrono::milliseconds first_pause) {
  Replicas part;
  part.what = "a part";
  for (const auto& holder : holders) {
    part.actors.emplace_back([holder] { return holder; });
  }
  part.request_deadline = std::chrono::seconds(5);
  part.recovery_deadline = std::chrono::seconds(1);
  part.first_pause = first_pause;
  return std::make_shared<const Replicas>(std::move(part));
}

/// \param holders  of all parts
inline std::shared_ptr<HostContext> host_of_first_part(
    const CutGraph& cut, const ScriptedSystem& system, const std::vector<caf::actor>& holders,
    std::chrono::milliseconds first_pause = Replicas{}.first_pause) {
  auto host = std::make_shared<HostContext>();
  host->graph = std::make_shared<const GraphInfo>(cut.info);
  host->book = cut.book;
  host->parts[PartId{0}] = cut.parts[0];
  host->executor = system.executor();
  for (const auto& holder : holders) {
    host->holders.push_back(replicas_of({holder}, first_pause));
  }
  return host;
}

/// What the holder of a part answers.
inline RowReply rows_of(const CutGraph& cut, const Asked<RowRequest>& asked, std::size_t part) {
  auto reply = read_part_rows(*cut.parts[part], *asked.what);
  EXPECT_OK(reply);
  return *std::move(reply);
}

/// Takes the next request of the holder of a part, and answers it.
inline void serve_rows(ScriptedSystem& system, ScriptedActor& holder, const CutGraph& cut,
                       std::size_t part) {
  const auto asked = holder.take<RowRequest>();
  holder.answer(asked, rows_of(cut, asked, part));
  system.run();
}

}  // namespace troupe::testing
