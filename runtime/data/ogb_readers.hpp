#pragma once
/// \file ogb_readers.hpp
/// The readers of OGB's layouts but for the one of text, which is in ogb_import.cpp.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/graph_source.hpp"
#include "runtime/data/ogb_folder.hpp"
#include "runtime/data/ogb_import.hpp"

namespace troupe {

/// Reads raw/data.npz or raw/edge_index_dict.npz and the archives beside it.
Result<graph_source::Graph> read_ogb_archives(OgbFolder& folder, const OgbOptions& options,
                                              Executor& executor);
/// Whether the folder is of that layout.
bool is_ogb_archives(const OgbFolder& folder);

/// Reads the folders of processed/, as OGB-LSC's MAG240M has them.
Result<graph_source::Graph> read_ogb_lsc(OgbFolder& folder, const OgbOptions& options,
                                         Executor& executor);
bool is_ogb_lsc(const OgbFolder& folder);

}  // namespace troupe
