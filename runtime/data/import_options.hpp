#pragma once
/// \file import_options.hpp
/// What all importers can be told.
#include "runtime/data/stream_store.hpp"

namespace troupe {

struct ImportOptions {
  StoreWriterOptions writer{};
  EdgeTransforms edges{};  ///< for all edge types
};

}  // namespace troupe
