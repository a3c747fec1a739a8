// Manual pages and bash completion of the package come from the same tree of options as --help.
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace troupe {
namespace {

class ManualPages : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto run = testing::run_process({TROUPE_PROGRAM, "write-pages", pages()}, folder());
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }
  std::string folder() const { return scratch_.path().string(); }
  std::string pages() const { return folder() + "/pages"; }
  std::string page(const std::string& name) const {
    return testing::file_text(pages() + "/" + name);
  }
  /// What bash offers after `words` for the last of them, one a line.
  std::string completed(const std::string& words) const {
    const auto script = "source " + pages() + "/troupe.bash; compopt() { :; }; COMP_WORDS=(" +
                        words +
                        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _troupe; printf '%s\\n' "
                        "\"${COMPREPLY[@]}\"";
    const auto run = testing::run_process({"/bin/bash", "-c", script}, folder());
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.err, "");
    return run.out;
  }

  testing::ScratchFolder scratch_;
};

/// As roff writes it: minus signs that can be copied.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

/// First words of the lines that begin with two spaces in a section of --help.
std::vector<std::string> help_words(const std::string& help, const std::string& section) {
  std::vector<std::string> words;
  std::istringstream in(help);
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != ' ') {
      inside = line == section;
    } else if (inside && line.size() > 2 && line[2] != ' ') {
      words.push_back(line.substr(2, line.find_first_of(" ,", 2) - 2));
    }
  }
  return words;
}

TEST_F(ManualPages, EveryCommandOfHelpHasAPageThatNamesItsOptions) {
  const auto help = testing::run_process({TROUPE_PROGRAM, "--help"}, folder()).out;
  const auto commands = help_words(help, "Subcommands:");
  ASSERT_GT(commands.size(), 10U) << help;
  for (const auto& command : commands) {
    const auto text = page("troupe-" + command + ".1");
    EXPECT_EQ(text.substr(0, 4), ".TH ") << command;
    EXPECT_NE(page("troupe.1").find(escaped("troupe " + command)), std::string::npos) << command;
    const auto own = testing::run_process({TROUPE_PROGRAM, command, "--help"}, folder()).out;
    for (const auto& option : help_words(own, "Options:")) {
      EXPECT_NE(text.find(escaped(option)), std::string::npos) << command << " " << option;
    }
  }
  EXPECT_FALSE(std::filesystem::exists(pages() + "/troupe-member.1"))
      << "starts processes of a run";
}

TEST_F(ManualPages, BashOffersCommandsOptionsChoicesAndFiles) {
  EXPECT_EQ(completed("troupe gen"), "generate\n");
  EXPECT_EQ(completed("troupe generate rm"), "rmat\n");
  EXPECT_EQ(completed("troupe generate rmat --no"), "--nodes\n--noise\n");
  EXPECT_EQ(completed("troupe partition --objective ''"), "cut\nvolume\n");
  std::ofstream(folder() + "/graph.json") << "{}";
  EXPECT_EQ(completed("troupe run " + folder() + "/gra"), folder() + "/graph.json\n");
}

}  // namespace
}  // namespace troupe
