#include "runtime/sample/frontier_share.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace troupe {
namespace {

Error corrupt(const FrontierShare& share, const std::string& what) {
  return {Errc::data_corruption, fmt::format("neighbours from part {}, edge type {}: {}",
                                             raw(share.part()), raw(share.edge_type()), what)};
}

/// Sizes against the question.
Status check_sizes(const FrontierShare& share, const HopSectionView& answer, EdgeData expected) {
  const std::size_t asked = share.missing().size();
  if (answer.nodes == 0 || answer.nodes > asked) {
    return corrupt(share,
                   fmt::format("expected answers for 1 to {} nodes, got {}", asked, answer.nodes));
  }
  return try_each_edge_datum(
      [&](bool its, const auto& values, std::string_view name) -> Status {
        const std::uint64_t count = its ? answer.neighbours.size() : 0;
        if (values.size() != count) {
          return corrupt(share, fmt::format("expected {} {}, got {}", count, name, values.size()));
        }
        return ok_status();
      },
      expected, answer, edge_data_names);
}

/// Counts against the fanout, and the resume position against the counts: every answer covers more of
/// the question.
Status check_counts(const FrontierShare& share, const HopSectionView& answer, std::int32_t fanout) {
  const auto most = answer.counts.empty() ? 0 : std::ranges::max(answer.counts);
  if (fanout != all_neighbours && most > static_cast<std::uint32_t>(fanout)) {
    return corrupt(share, fmt::format("expected at most {} neighbours, got {}", fanout, most));
  }
  if (answer.resume_position == 0) {
    return ok_status();
  }
  const std::uint64_t before = answer.nodes == 1 ? share.resume_position() : 0;
  const bool has_last =
      !answer.places || (!answer.places->empty() && answer.places->back() == answer.nodes - 1);
  const std::uint64_t last = has_last ? answer.counts.back() : 0;
  if (fanout != all_neighbours || last == 0 || answer.resume_position != before + last) {
    return corrupt(share, fmt::format("cannot go on at position {}: {} entries after {}, fanout {}",
                                      answer.resume_position, last, before, fanout));
  }
  return ok_status();
}

Status check_ids(const FrontierShare& share, const HopSectionView& answer, std::uint64_t end) {
  const std::uint64_t most = answer.neighbours.visit([](auto ids) {
    typename decltype(ids)::value_type found = 0;
    for (const auto id : ids) {
      found = std::max(found, id);
    }
    return std::uint64_t{found};
  });
  if (!answer.neighbours.empty() && most >= end) {
    return corrupt(share, fmt::format("expected ids below {}, got {}", end, most));
  }
  return ok_status();
}

/// The owner checks them against its own lists when rows are requested.
Status check_entries(const FrontierShare& share, const HopSectionView& answer, std::uint64_t end) {
  const auto most = answer.entries.empty() ? 0 : std::ranges::max(answer.entries);
  if (!answer.entries.empty() && most >= end) {
    return corrupt(share, fmt::format("expected entry numbers below {}, got {}", end, most));
  }
  return ok_status();
}

}  // namespace

Status FrontierShare::take(HopSectionView answer, std::shared_ptr<const HopReply> reply,
                           const Expected& expected) {
  TROUPE_RETURN_IF_ERROR(check_sizes(*this, answer, expected.edge_data));
  TROUPE_RETURN_IF_ERROR(check_counts(*this, answer, expected.fanout));
  TROUPE_RETURN_IF_ERROR(check_ids(*this, answer, expected.end));
  TROUPE_RETURN_IF_ERROR(check_entries(*this, answer, expected.entries));
  resume_position_ = answer.resume_position;
  covered_ += answer.nodes - (answer.resume_position != 0 ? 1 : 0);
  if (untouched()) {
    first_ = {answer, std::move(reply)};
  } else {
    later_.push_back({answer, std::move(reply)});
  }
  return ok_status();
}

}  // namespace troupe
