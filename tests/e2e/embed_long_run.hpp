#pragma once
/// \file embed_long_run.hpp
/// Runs of the example of a user program that last some seconds, and whether two of them are the same.
#include "tests/e2e/embed_fixture.hpp"
#include "tests/support/folded_cora.hpp"
#include "tests/support/network_hosts.hpp"

#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <fstream>

namespace troupe::testing {

class EmbedLongRun : public Embed {
 protected:
  static constexpr std::size_t epochs = 160;

  /// Settings of a run on two hosts that have nothing: all is copied to them.
  static Words settings_of(const NetworkHosts& hosts) {
    Words settings = {"--set",
                      "cluster.ssh.copy=true",
                      "--set",
                      "cluster.ssh.program=" + folder() + "/there/troupe",
                      "--set",
                      fmt::format("cluster.hosts=[\"{}\",\"{}\"]", NetworkHosts::address(0),
                                  NetworkHosts::address(1))};
    for (const auto& setting : hosts.ssh_settings()) {
      settings.insert(settings.end(), {"--set", setting});
    }
    return settings;
  }
  static Words longer(const Words& more) {
    Words options = {"--set", fmt::format("train.epochs={}", epochs),
                     "--set", "checkpoint.every.epochs=20",
                     "--set", "log_every=2",
                     "--set", "dataset.path=" + folded_cora().string()};
    options.insert(options.end(), more.begin(), more.end());
    return options;
  }
  static nlohmann::json report(const std::string& name) {
    return nlohmann::json::parse(std::ifstream(output(name) + "/report.json"));
  }
  /// Times aside, and the work of the epoch that was interrupted.
  static void expect_same_report(const std::string& name, const std::string& other) {
    const auto found = report(name);
    const auto expected = report(other);
    EXPECT_EQ(found.at("status"), "done");
    EXPECT_EQ(found.at("digests"), expected.at("digests"));
    ASSERT_EQ(found.at("epochs").size(), epochs);
    ASSERT_EQ(expected.at("epochs").size(), epochs);
    int different = 0;
    double waited = 0;
    for (std::size_t i = 0; i < epochs; ++i) {
      const auto& epoch = found.at("epochs")[i];
      EXPECT_EQ(epoch.at("epoch"), i + 1);
      EXPECT_TRUE(epoch.at("loss").is_null());
      waited += epoch.at("wait_share").get<double>();  // an epoch's batches may all be there
      different += epoch.at("edges") == expected.at("epochs")[i].at("edges") ? 0 : 1;
    }
    EXPECT_LE(different, 1);
    EXPECT_GT(waited, 0);
    EXPECT_GT(found.at("traffic").at("requests").get<int>(), 0);
    EXPECT_EQ(metrics_kinds(name), metrics_kinds(other));
  }
  /// Kind and epoch of each line; the first line and the last one have no epoch.
  static std::string metrics_kinds(const std::string& name) {
    std::ifstream in(output(name) + "/metrics.jsonl");
    std::string kinds;
    for (std::string line; std::getline(in, line);) {
      const auto json = nlohmann::json::parse(line);
      kinds += fmt::format("{} {}\n", json.at("kind").get<std::string>(), json.value("epoch", 0));
    }
    return kinds;
  }
};

}  // namespace troupe::testing
