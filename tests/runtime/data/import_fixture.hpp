#pragma once
/// \file import_fixture.hpp
/// A folder to import, the store that comes of it, and what the importer said it left out.
#include "runtime/data/import_options.hpp"
#include "runtime/graph/store.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace troupe::testing {

/// Tests write what they are about below `in_`, and import it to `out_` by a function of their own.
class ImportTest : public ::testing::Test {
 protected:
  /// Makes room for another import, whose `options` then tell this fixture what is left out.
  void begin(ImportOptions& options) {
    std::filesystem::remove_all(out_);
    left_out_.clear();
    options.left_out = [this](const std::string& what) { left_out_.push_back(what); };
  }
  Result<GraphStore> opened(const Result<GraphInfo>& imported) const {
    TROUPE_RETURN_IF_ERROR(imported);
    return GraphStore::open(out_, {});
  }

  TempDir temp_;
  std::filesystem::path in_ = temp_ / "in";
  std::filesystem::path out_ = temp_ / "out";
  std::vector<std::string> left_out_;
};

}  // namespace troupe::testing
