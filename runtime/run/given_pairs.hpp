#pragma once
/// \file given_pairs.hpp
/// Links that a job's files give to evaluate with: false links of a role, and candidates that each of
/// its links is ranked among.
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/run/scoring.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct RolePairs {
  LinkList list;                  ///< As `given` says; of links of several edge types in groups
  std::vector<GivenPairs> given;  ///< By edge type of the links
};

/// All pairs of a role that are scored. Rows of candidates are in the order of the file of the role's
/// own seeds (`dataset.seeds`), or else of the store's links, of several edge types each type's own.
/// \param links  of the role
/// \returns nothing where the job gives no files for the role
/// \errors invalid_argument: a file of another shape or dtype, or ids that the graph does not have; those
///   of files and of locate_nodes()
Result<std::optional<RolePairs>> given_pairs(const Job& job, const PartitionedStore& store,
                                             const std::string& role, const LinkList& links);

}  // namespace troupe
