#pragma once
/// \file archive_pairs.hpp
/// Edges as an array of pairs in an .npz archive.
#include "runtime/base/result.hpp"
#include "runtime/data/array_source.hpp"
#include "runtime/data/edge_rows.hpp"
#include "runtime/data/graph_source.hpp"

#include <memory>
#include <string>

namespace troupe {

/// Integers [2, edges]. Both rows are read at once: an archive's member that is deflated is
/// inflated one and a half times.
/// \param name  for messages
/// \errors invalid_argument: another shape, or no integers
Result<std::unique_ptr<graph_source::EdgeRows>> open_archive_pairs(std::string name,
                                                                   ArraySource array,
                                                                   const EdgeEnds& ends);

}  // namespace troupe
