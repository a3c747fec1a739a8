// Names that the configuration of ssh alone knows, and where processes of hosts by ssh listen.
#include "launcher/processes/ssh_names.hpp"

#include "launcher/early_checks.hpp"
#include "launcher/processes/agent_starters.hpp"
#include "launcher/processes/local_address.hpp"
#include "launcher/processes/tool_output.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace troupe {
namespace {

class SshNames : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!tool_output({"ssh", "-V"})) {
      GTEST_SKIP() << "there is no ssh";
    }
    const auto config = (folder_.path() / "config").string();
    std::ofstream(config) << "Host alpha\n  HostName 127.0.0.1\n  Port 2299\n"
                             "Host behind\n  HostName behind.invalid\n  ProxyJump alpha\n";
    cluster_.launch = "ssh";
    cluster_.ssh.port = 0;
    cluster_.ssh.options = {"-F", config};
  }
  void add_host(const std::string& name, const std::string& listen = "") {
    auto& host = cluster_.named.emplace_back();
    host.address = name;
    host.listen = listen;
  }

  testing::ScratchFolder folder_;
  ClusterJob cluster_;
};

TEST_F(SshNames, StandForAddressesOrForHostsBehindOthers) {
  EXPECT_EQ(find_ssh_name(cluster_.ssh, "127.0.0.2").address, "127.0.0.2");
  EXPECT_EQ(find_ssh_name(cluster_.ssh, "alpha").address, "127.0.0.1");
  EXPECT_TRUE(find_ssh_name(cluster_.ssh, "alpha").known);
  EXPECT_EQ(find_ssh_name(cluster_.ssh, "behind").address, "");
  EXPECT_TRUE(find_ssh_name(cluster_.ssh, "behind").known);
  EXPECT_FALSE(find_ssh_name(cluster_.ssh, "no-such-host.invalid").known);
}

TEST_F(SshNames, GiveTheDirectorAndTheirHostsAddresses) {
  add_host("alpha");
  ASSERT_OK_AND_ASSIGN(const auto address, address_towards_hosts(cluster_));
  EXPECT_EQ(address, "127.0.0.1");
  EXPECT_EQ(listen_address_there(cluster_.ssh, cluster_.named[0], "127.0.0.1:7"), "127.0.0.1");
  EXPECT_OK(check_host_names(cluster_));
}

TEST_F(SshNames, WithoutAnAddressNeedOneOnTheirLineAndForTheDirector) {
  add_host("behind");
  EXPECT_ERROR(check_host_names(cluster_), Errc::not_found,
               "/cluster/hosts: expected listen=ADDRESS on the line of a host that ssh alone can "
               "resolve, found none for behind");
  cluster_.named[0].listen = "10.1.0.2";
  EXPECT_ERROR(check_host_names(cluster_), Errc::not_found,
               "cluster.listen: expected HOST:PORT where the hosts reach this one");
  cluster_.listen = "10.1.0.1:0";
  EXPECT_OK(check_host_names(cluster_));
}

TEST_F(SshNames, PortIsThatOfTheConfigurationUnlessTheJobHasOne) {
  add_host("alpha");
  auto words = ssh_options(cluster_.ssh, cluster_.named[0]);
  EXPECT_EQ(std::ranges::count(words, "-p"), 0);
  cluster_.ssh.port = 22;
  words = ssh_options(cluster_.ssh, cluster_.named[0]);
  const auto at = std::ranges::find(words, "-p");
  ASSERT_NE(at, words.end());
  EXPECT_EQ(*(at + 1), "22");
}

TEST(ListenAddressThere, OfTheOwnHostIsNotItsLoopbackWhereTheDirectorHasAnother) {
  SshJob ssh;
  HostSpec host;
  host.address = "localhost";
  EXPECT_EQ(listen_address_there(ssh, host, "127.0.0.1:7"), "localhost");
  EXPECT_EQ(listen_address_there(ssh, host, "192.0.2.1:7"), "192.0.2.1");
  EXPECT_EQ(listen_address_there(ssh, host, "[2001:db8::1]:7"), "2001:db8::1");
  host.listen = "192.0.2.9";
  EXPECT_EQ(listen_address_there(ssh, host, "192.0.2.1:7"), "192.0.2.9");
  EXPECT_TRUE(is_loopback("127.0.1.1"));
  EXPECT_TRUE(is_loopback("::1"));
  EXPECT_FALSE(is_loopback("192.0.2.1"));
}

/// A host of this machine first, then one that is elsewhere, towards which there is some way.
TEST(AddressTowardsHosts, IsThatTowardsTheFirstHostThatIsAnother) {
  ClusterJob cluster;
  for (const char* name : {"localhost", "192.0.2.1"}) {
    cluster.named.emplace_back().address = name;
  }
  const auto towards = local_address_towards("192.0.2.1");
  if (!towards) {
    GTEST_SKIP() << towards.error().what();
  }
  ASSERT_OK_AND_ASSIGN(const auto address, address_towards_hosts(cluster));
  EXPECT_EQ(address, *towards);
}

}  // namespace
}  // namespace troupe
