#pragma once
/// \file initial_rows.hpp
/// Learned rows before the first step: pure functions of the job's seed, the table's name, the node's
/// original id and the column, so that they are the same for every partitioning.
#include "runtime/base/philox.hpp"
#include "runtime/feature/embedding/options.hpp"

#include <span>

namespace troupe {

/// Column c of a row comes from word c of the draws of its original id. Normal numbers come in pairs
/// of columns by the method of Box and Muller (1958).
/// Threads: immutable; any number at once
class InitialRows {
 public:
  InitialRows(const EmbeddingOptions& table, std::uint64_t job_seed);
  /// \param row  [dim]
  void fill(OriginalId id, std::span<float> row) const;

 private:
  enum class Kind : std::uint8_t { zeros, uniform, normal };
  Kind kind_ = Kind::zeros;
  double size_ = 0;
  StreamKey key_;
};

}  // namespace troupe
