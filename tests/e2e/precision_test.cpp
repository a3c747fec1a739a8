// `train.precision` where the program finds no GPU: refused by what trains, taken by what does not.
#include "tests/support/expect.hpp"
#include "tests/support/folded_cora.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace troupe {
namespace {

class ProgramPrecision : public ::testing::Test {
 protected:
  using Words = std::vector<std::string>;

  /// A command with the quickstart's job, of a program that sees no GPU.
  /// \param environment  more of it
  testing::ProcessResult troupe(const std::string& command, const Words& more,
                                const Words& environment = {}) const {
    Words words{"/usr/bin/env", "CUDA_VISIBLE_DEVICES="};
    words.insert(words.end(), environment.begin(), environment.end());
    words.insert(words.end(), {TROUPE_PROGRAM, command, testing::quick_job().string()});
    words.insert(words.end(), {"--set", "output=" + path("out"), "--set", "train.epochs=1"});
    words.insert(words.end(), more.begin(), more.end());
    return testing::run_process(words, scratch_.path().string());
  }
  static Words settings(const std::string& device, const std::string& precision) {
    return {"--set", "cluster.device=" + device, "--set", "train.precision=" + precision};
  }
  std::string path(const std::string& name) const { return (scratch_.path() / name).string(); }

  testing::ScratchFolder scratch_;
};

TEST_F(ProgramPrecision, InTf32IsRefusedWhereTheDeviceIsNoGpu) {
  for (const std::string command : {"run", "check"}) {
    for (const std::string device : {"cpu", "emulated:1"}) {
      const auto refused = troupe(command, settings(device, "tf32"));
      EXPECT_EQ(refused.exit_code, 2) << refused.err;
      EXPECT_NE(refused.err.find(
                    "/train/precision: expected \"float32\" or \"bf16\" with cluster.device \"" +
                    device + "\", found \"tf32\", which no CPU has"),
                std::string::npos)
          << refused.err;
    }
    const auto refused = troupe(command, settings("auto", "tf32"));
    EXPECT_EQ(refused.exit_code, 2) << refused.err;
    for (const char* const part :
         {"train.precision: expected \"float32\" or \"bf16\" with cluster.device \"auto:cpu\" "
          "(CUDA devices: ",
          "found \"tf32\", which no CPU has", "try: a host with GPUs"}) {
      EXPECT_NE(refused.err.find(part), std::string::npos) << refused.err;
    }
    EXPECT_FALSE(std::filesystem::exists(path("out"))) << command << " began";
  }
}

/// ONEDNN_MAX_CPU_ISA hides the unit of a processor that has one.
TEST_F(ProgramPrecision, InBf16IsRefusedWhereTheProcessorHasNoUnit) {
  for (const std::string command : {"run", "check"}) {
    for (const std::string device : {"cpu", "emulated:1"}) {
      const auto refused = troupe(command, settings(device, "bf16"), {"ONEDNN_MAX_CPU_ISA=AVX2"});
      EXPECT_EQ(refused.exit_code, 2) << refused.err;
      EXPECT_NE(refused.err.find("found \"bf16\": this host has a processor without a unit for "
                                 "bfloat16 (AVX512_BF16 or AMX-BF16); oneDNN's kernels there are "
                                 "for AVX2"),
                std::string::npos)
          << refused.err;
      EXPECT_FALSE(std::filesystem::exists(path("out"))) << command << " began";
    }
  }
}

TEST_F(ProgramPrecision, IsTakenByCommandsThatDoNotTrain) {
  ASSERT_EQ(troupe("run", {}).exit_code, 0);
  auto words = settings("auto", "tf32");
  words.insert(words.end(), {"--model", path("out/model.safetensors"), "--out", path("predicted")});

  const auto predicted = troupe("predict", words);

  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_TRUE(std::filesystem::exists(path("predicted/predictions.npy")));
}

}  // namespace
}  // namespace troupe
