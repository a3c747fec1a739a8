#pragma once
/// \file batch_files.hpp
/// Training batches as folders of .npy files (docs/outputs.md, "troupe batches").
#include "launcher/batch_source.hpp"
#include "runtime/base/digest.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/batch.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Name of a batch's folder: "batch-0".
std::string batch_folder(std::uint64_t number);

/// Writes the arrays of one batch into `folder`, which is made.
/// \param options  of the job: types that have the data of edges that it names get files, also of no
///   edges; walks have pairs in its window
/// \errors failed_precondition: the disk
Status write_batch(const std::filesystem::path& folder, const Batch& batch, const GraphInfo& graph,
                   const SampleOptions& options);

struct BatchesRequest {
  std::uint32_t epoch = 0;  ///< from 0
  std::uint64_t count = 0;  ///< the first so many, at most BatchSource::num_batches()
  DigestMode digest = DigestMode::full;
};

struct WrittenBatch {
  std::uint64_t seeds = 0;
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  Digest digest;              ///< zero with DigestMode::off
  std::string links_of = {};  ///< Edge type of its links, by name; empty: its seeds are nodes
  std::string link_sources_of = {};       ///< Node type of their sources
  std::string link_destinations_of = {};  ///< Node type of their destinations
  std::string replaced = {};  ///< End of its triples that candidates replace: "tail" or "head"
};

/// Writes the first batches of an epoch into `folder`, several at a time: as many as `executor` has
/// threads, which bounds the memory.
/// \returns one entry for each batch, in order
/// \errors those of BatchSource::batch and write_batch, of the first batch that fails
Result<std::vector<WrittenBatch>> write_batches(const std::filesystem::path& folder,
                                                const BatchSource& source,
                                                const BatchesRequest& request, Executor& executor);

/// Running digest of batches in order, as a run has it after them.
Digest digest_of_batches(const std::vector<WrittenBatch>& batches);

/// Text of `batches.json`.
std::string batches_json(const Job& job, const BatchSource& source, const BatchesRequest& request,
                         const std::vector<WrittenBatch>& batches);

}  // namespace troupe
