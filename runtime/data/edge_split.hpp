#pragma once
/// \file edge_split.hpp
/// Decides which edges a model is trained on and which it is to predict, for data without links of its
/// own.
#include "runtime/base/philox.hpp"
#include "runtime/base/result.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Shares of the edges of one type, or of several, that become links of the default split. Those of val and test are
/// left out of the graph; those of train stay.
struct EdgeSplit {
  double train = 0;
  double val = 0;
  double test = 0;
  std::string type = {};   ///< Edge type; empty: the only one
  std::uint64_t seed = 0;  ///< Random seed of the draws
  /// Other edge types whose edges are split too; the links' labels are then their numbers, `type` first.
  std::vector<std::string> more_types = {};
  /// In place of shares: edges before the first time are of train, those from the second one on of test, others of val.
  std::optional<std::array<std::int64_t, 2>> times = {};
};

/// \errors invalid_argument: a share that is negative or no number, or a sum other than 1; shares beside times, or times that
///   do not ascend
Status check_edge_split(const EdgeSplit& split);

namespace stream_store {

/// Roles of links by number, as the draws give them.
inline constexpr std::array<std::string_view, 3> link_role_names{"train", "val", "test"};

/// Draws the role of an edge from its ends alone: parallel edges have the same one, whatever their
/// order and number. With times the role is that of the edge's time.
/// Threads: immutable; any number at once
class EdgeRoles {
 public:
  /// \param one_type  both ends are of one node type: an edge and its reverse have the same role
  EdgeRoles(const EdgeSplit& split, bool one_type);

  /// The number of the role of edges between two nodes.
  /// \requires the split has shares
  std::uint8_t of(std::uint64_t source, std::uint64_t destination) const;
  /// The number of the role of edges of this time.
  /// \requires by_time()
  std::uint8_t of_time(std::int64_t time) const;
  bool by_time() const { return times_.has_value(); }
  /// Whether any edge may have this role.
  bool used(std::size_t role) const {
    return times_ ? role != 1 || (*times_)[0] < (*times_)[1]
                  : ends_[role] > (role == 0 ? 0 : ends_[role - 1]);
  }

 private:
  std::optional<std::array<std::int64_t, 2>> times_{};
  std::array<double, 3> ends_{};  ///< of the roles' ranges in [0, 1]
  bool one_type_ = false;
  StreamKey key_{};
};

}  // namespace stream_store
}  // namespace troupe
