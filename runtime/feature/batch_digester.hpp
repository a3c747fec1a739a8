#pragma once
/// \file batch_digester.hpp
/// Digest of a batch, fed while its rows are placed: a row is hashed while the cache still has it.
/// digest_batch() feeds all at once.
#include "runtime/base/digest.hpp"
#include "runtime/feature/batch.hpp"

#include <cstddef>

namespace troupe {

/// Defines what a batch digest covers, in which order.
/// Lifecycle: feed_rows() any number of times; finish()
/// Threads:   one at a time
class BatchDigester {
 public:
  /// \param mode  full or ids
  explicit BatchDigester(DigestMode mode) : mode_(mode) {}

  /// Takes in what is in place: original ids of all nodes, rows of all types before `type` and the
  /// first `rows` rows of `type`.
  void feed_rows(const Batch& batch, std::size_t type, std::size_t rows);
  /// Takes in the rest. All of the batch is in place.
  BatchDigest finish(const Batch& batch);

 private:
  void begin(const Batch& batch);
  void feed_up_to(const Batch& batch, std::size_t rows);

  DigestMode mode_;
  DigestBuilder digest_;
  bool begun_ = false;
  std::size_t type_ = 0;  ///< Whose rows are fed
  std::size_t rows_ = 0;  ///< Of them that were
  bool sized_ = false;    ///< Whether their number was
};

}  // namespace troupe
