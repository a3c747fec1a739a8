#pragma once
/// \file device_memory.hpp
/// Memory of a device of a run, by what it is for, and what the device reads in pinned memory of the
/// host. Rows and lists are as large as they will be, the rest are upper bounds.
#include "runtime/base/result.hpp"
#include "runtime/feature/hot_rows.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// What is known of a process's devices.
struct DeviceFacts {
  std::uint64_t devices = 0;       ///< 0: not known, one for each rank
  std::uint64_t memory_bytes = 0;  ///< Of each; 0: not known
  bool rows = false;               ///< They gather the rows of batches, else the host
  bool batches = false;            ///< They sample the batches, too
  bool staged = false;  ///< They have rows of the parts of their process alone, no ids or labels
  bool samplers =
      false;  ///< They are of processes that sample for ranks elsewhere, and make batches alone
  std::size_t product_rows = 0;  ///< Of exact inference there (nn::BlockOps::product_rows())
  /// [parts] bytes of rows of nodes that each part has. Empty: the same share of all
  std::vector<std::uint64_t> part_rows = {};
};

struct DeviceMemory {
  DeviceBudget budget = {};
  bool keeps_rows = false;
  bool samples = false;
  bool samplers = false;           ///< DeviceFacts::samplers
  std::uint64_t ranks = 0;         ///< That share the device
  std::uint64_t memory_bytes = 0;  ///< 0: not known
  std::uint64_t lists = 0;         ///< Neighbor lists
  std::uint64_t ids = 0;           ///< Original ids and labels of nodes
  std::uint64_t rows = 0;          ///< Of features
  std::uint64_t all_rows = 0;      ///< Of features, those of the host too: what the process has
  std::uint64_t batches = 0;
  std::uint64_t activations = 0;
  std::uint64_t parameters = 0;
  std::uint64_t exact = 0;  ///< Exact inference, of the process's evaluator
  std::uint64_t margin = 0;
  std::uint64_t pinned_lists = 0;  ///< In memory of the host
  std::uint64_t pinned_rows = 0;   ///< The same
  std::uint64_t copies = 0;        ///< Of batches, for the host; pinned, an upper bound
  std::uint64_t staged = 0;        ///< Rows of batches that wait for the device; the same

  /// What is needed beside lists and rows, but for exact inference.
  std::uint64_t reserved() const;
  /// All but the margin.
  std::uint64_t bytes() const;
  std::uint64_t pinned() const { return pinned_lists + pinned_rows; }
};

/// Of the device with the most ranks.
/// \param plan  of the same job and graph
DeviceMemory device_memory(const Job& job, const GraphInfo& graph, const Plan& plan,
                           const DeviceFacts& facts);

/// Bytes that exact inference may take of a device: an eighth of its memory at most.
/// \param wanted        DeviceMemory::exact where the memory is not known
/// \param memory_bytes  0: not known
std::uint64_t exact_share(std::uint64_t wanted, std::uint64_t memory_bytes);

/// The types whose features of edges batches have.
std::vector<EdgeTypeId> types_with_edge_features(const Job& job, const GraphInfo& graph);

/// Whether lists, rows and parameters have room, as far as that is known.
/// \errors out_of_memory: with all figures
Status check_device_memory(const DeviceMemory& memory);

/// An error of an allocation of a device with all figures, and with what to try. Another error stays as it is, and
/// so does one that has both.
Error with_figures(const Error& error, const DeviceMemory& memory);

/// One line, e.g. for errors.
std::string line_of(const DeviceMemory& memory);
/// As `check` prints it, with a line each.
std::string to_string(const DeviceMemory& memory);

}  // namespace troupe
