#pragma once
/// \file row_request.hpp
/// Reading rows of a part: features, labels, original ids, or rows of a named tensor that the
/// holder keeps for the job.
#include "runtime/base/buffer.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/part.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// Rows that are prefetched before the row that is copied or decoded.
inline constexpr std::size_t rows_ahead = 8;

/// Which table is read. Tensors are numbered by the job: tensor t holds the outputs of stage t-1
/// during exact inference.
struct RowSource {
  enum class Kind : std::uint8_t { features, tensor };
  Kind kind = Kind::features;
  std::uint32_t tensor = 0;
};

/// Asks one holder for rows of nodes that its part owns.
struct RowRequest {
  NodeTypeId node_type{};
  RowSource source;
  bool with_rows = true;
  bool with_original_ids = false;
  std::vector<NodeId> nodes;      ///< order is kept; duplicates allowed
  std::uint64_t label_nodes = 0;  ///< labels are wanted for the first so many of `nodes`
  std::uint64_t flow = 0;         ///< of the batch in the trace; 0: none
  // For the charge of the answer; these do not travel.
  std::uint64_t row_bytes = 0;    ///< of one row, as the asker knows the table
  std::uint64_t label_bytes = 0;  ///< of one node's label or targets
};

/// One question to one part, as HopQuestion.
struct RowQuestion {
  std::uint32_t id = 0;
  PartId part{};
  RowRequest request;
};

/// Rows in the order of the request, in the stored dtype.
struct RowReply {
  Segment rows;  ///< [nodes, row_bytes]
  std::uint32_t row_bytes = 0;
  std::vector<OriginalId> original_ids;  ///< [nodes] if asked for
  std::vector<std::int64_t> labels;      ///< [label_nodes] classes, if the type has them
  std::vector<float> targets;            ///< [label_nodes, columns], if the type has them
};

/// Reads features, original ids and labels of a part.
/// \errors invalid_argument: a node the part does not own, no features
Result<RowReply> read_part_rows(const Part& part, const RowRequest& request);

}  // namespace troupe
