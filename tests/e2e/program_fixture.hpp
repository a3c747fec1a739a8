#pragma once
/// \file program_fixture.hpp
/// Commands of the built program in a scratch folder, and their output files.
#include "tests/support/folded_cora.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

class Program : public ::testing::Test {
 protected:
  std::vector<std::string> command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), TROUPE_PROGRAM);
    return arguments;
  }
  testing::ProcessResult troupe(std::vector<std::string> arguments) const {
    return testing::run_process(command(std::move(arguments)), folder());
  }
  /// Run inside the scratch folder, so that the default output lies there.
  std::vector<std::string> command_there(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"/usr/bin/env", "-C", folder(), TROUPE_PROGRAM});
    return arguments;
  }
  std::string folder() const { return scratch_.path().string(); }
  std::string example(const std::string& name) const {
    return std::string(TROUPE_SOURCE_DIR) + "/examples/" + name;
  }
  /// The quickstart's job on fewer columns.
  static std::string quick_job() { return testing::quick_job().string(); }
  std::string output() const { return folder() + "/out"; }
  nlohmann::json report() const {
    std::ifstream in(output() + "/report.json");
    return nlohmann::json::parse(in, nullptr, false);
  }
  std::string write_file(const std::string& name, const std::string& text) const {
    const auto path = folder() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  testing::ScratchFolder scratch_;
};

}  // namespace troupe
