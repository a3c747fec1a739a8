// How processes learn who they are, and whether they have the director's store.
#include "launcher/processes/process_arguments.hpp"

#include "launcher/processes/store_identity.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <cstdlib>
#include <fstream>

namespace troupe {
namespace {

ProcessArguments some_arguments() {
  ProcessArguments arguments;
  arguments.instance = {ProcessId{3}, 7};
  arguments.name = "sampler 1 of rank 0";
  arguments.director = "[::1]:4000";
  arguments.job = "0123";
  arguments.listen = "127.0.0.1:0";
  arguments.heartbeat_s = 0.25;
  arguments.lost_after_s = 1.5;
  arguments.join_deadline_s = 30;
  return arguments;
}

TEST(ProcessArguments, AreOnTheCommandLine) {
  EXPECT_EQ(to_command_line("member", some_arguments()),
            (std::vector<std::string>{"member", "--process", "3", "--incarnation", "7", "--name",
                                      "sampler 1 of rank 0", "--director", "[::1]:4000", "--job",
                                      "0123", "--listen", "127.0.0.1:0", "--heartbeat", "0.25",
                                      "--lost-after", "1.5", "--join-deadline", "30"}));
}

TEST(ProcessArguments, NeitherTheTokenNorItsFileIsOnTheCommandLine) {
  auto arguments = some_arguments();
  const testing::ScratchFolder folder;
  ASSERT_OK_AND_ASSIGN(const auto token, net::Token::random());
  arguments.token_file = (folder.path() / "token").string();
  ASSERT_OK(write_secrets({token, {}}, arguments.token_file));

  for (const auto& argument : to_command_line("agent", arguments)) {
    EXPECT_EQ(argument.find(token.hex()), std::string::npos);
    EXPECT_EQ(argument.find(arguments.token_file), std::string::npos);
  }
}

TEST(ProcessArguments, TravelInAVariableToTheUsersProgram) {
  auto arguments = some_arguments();
  unsetenv(member_variable);
  EXPECT_FALSE(member_of_environment().has_value());
  setenv(member_variable, to_member_variable(arguments).c_str(), 1);
  const auto back = member_of_environment();
  setenv(member_variable, "member\n--process\nx\n", 1);
  const auto broken = member_of_environment();
  unsetenv(member_variable);

  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(to_command_line("member", *back), to_command_line("member", arguments));
  EXPECT_FALSE(broken.has_value());
}

TEST(ProcessArguments, TimesOfAJobBecomeThoseOfItsLinks) {
  ASSERT_OK_AND_ASSIGN(const auto options, tcp_options(some_arguments(), {}));
  EXPECT_EQ(options.heartbeat, std::chrono::milliseconds(250));
  EXPECT_EQ(options.lost_after, std::chrono::milliseconds(1500));
  EXPECT_EQ(options.tls, nullptr);
}

// ---- the store ----

class StoreIdentity : public ::testing::Test {
 protected:
  StoreIdentity() {
    write("graph.json", "{\"nodes\": 1}");
    write("partition.json", "{\"parts\": 2}");
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name, std::ios::trunc) << text;
  }
  std::uint64_t identity() const {
    const auto found = store_identity(folder_.path());
    EXPECT_OK(found);
    return found ? *found : 0;
  }
  testing::ScratchFolder folder_;
};

TEST_F(StoreIdentity, IsThatOfTheDescriptionsWhereverTheyLie) {
  const auto here = identity();
  testing::ScratchFolder other;
  for (const char* name : {"graph.json", "partition.json"}) {
    std::filesystem::copy(folder_.path() / name, other.path() / name);
  }

  ASSERT_OK_AND_ASSIGN(const auto there, store_identity(other.path()));

  EXPECT_EQ(there, here);
  EXPECT_NE(here, 0U);
}

TEST_F(StoreIdentity, ChangesWithEitherDescription) {
  const auto first = identity();
  write("graph.json", "{\"nodes\": 2}");
  const auto second = identity();
  write("partition.json", "{\"parts\": 3}");
  const auto third = identity();
  EXPECT_NE(first, second);
  EXPECT_NE(second, third);
  // What moves from one to the other changes it, too.
  write("graph.json", "{\"nodes\": 2}{");
  write("partition.json", "\"parts\": 3}");
  EXPECT_NE(identity(), third);
}

TEST_F(StoreIdentity, WithoutADescriptionThereIsNone) {
  std::filesystem::remove(folder_.path() / "partition.json");
  EXPECT_ERROR(store_identity(folder_.path()), Errc::not_found, "partition.json");
  EXPECT_ERROR(store_identity(folder_.path() / "none"), Errc::not_found, "graph.json");
}

}  // namespace
}  // namespace troupe
