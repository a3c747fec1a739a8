// What cluster.device "auto" becomes, and what a run says of its devices.
#include "launcher/decide_device.hpp"

#include "launcher/device_plan.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/nn/ops/word_products.hpp"
#include "tests/support/expect.hpp"

#include <fmt/format.h>
#include <string>

namespace troupe {
namespace {

const gpu::FoundDevices found_gpus{.kind = DeviceKind::cuda, .text = "2 x G; driver 1"};
const gpu::FoundDevices found_none{.kind = DeviceKind::cpu, .text = "no driver"};

Job job_on(const std::string& device) {
  const auto text = fmt::format(
      R"({{"dataset": {{"path": "d"}}, "sample": {{"fanout": [2]}}, "cluster": {{"device": "{}"}}}})",
      device);
  auto reading = parse_job(text, "base", {});
  EXPECT_OK(reading);
  EXPECT_TRUE(reading->problems.empty()) << to_string(reading->problems);
  return std::move(reading->job);
}

TEST(DecideDevice, AutoBecomesWhatTheHostHas) {
  for (const auto& [found, text] :
       {std::pair{found_gpus, "auto:cuda"}, std::pair{found_none, "auto:cpu"}}) {
    Job job = job_on("auto");
    decide_device(job, found);

    EXPECT_EQ(to_string(job.cluster.device), text);
    EXPECT_NE(job.json.find(fmt::format("\"device\": \"{}\"", text)), std::string::npos);
    decide_device(job, text == std::string("auto:cpu") ? found_gpus : found_none);
    EXPECT_EQ(to_string(job.cluster.device), text) << "is decided once";
  }
}

TEST(DecideDevice, AnotherDeviceStays) {
  for (const char* const device :
       {"cpu", "cuda", "cuda:1", "emulated:2", "auto:cpu", "auto:cuda"}) {
    Job job = job_on(device);
    const auto before = job.json;
    decide_device(job, found_gpus);
    decide_device(job, found_none);
    EXPECT_EQ(to_string(job.cluster.device), device);
    EXPECT_EQ(job.json, before);
  }
}

TEST(DecideDevice, HostsThatHaveOtherDevicesAreNamed) {
  const DeviceChoice to_cuda{.kind = DeviceKind::cuda, .automatic = true};
  const DeviceChoice to_cpu{.kind = DeviceKind::cpu, .automatic = true};
  EXPECT_OK(check_decided(to_cuda, found_gpus, "b"));
  EXPECT_OK(check_decided(to_cpu, found_none, "b"));
  EXPECT_ERROR(check_decided(to_cuda, found_none, "host b"), Errc::failed_precondition,
               "the host that started the run has GPUs, host b has none (no driver)");
  EXPECT_ERROR(check_decided(to_cpu, found_gpus, "host b"), Errc::failed_precondition,
               "the host that started the run has none, host b has GPUs (2 x G; driver 1)");
  // What the job says needs no agreement.
  EXPECT_OK(check_decided({}, found_gpus, "b"));
  EXPECT_OK(check_decided({.kind = DeviceKind::cuda}, found_none, "b"));
}

TEST(DecideDevice, ProductsInTf32AreRefusedOnCpusWithTheReason) {
  Job job = job_on("auto");
  EXPECT_OK(check_precision(job, found_none));
  job.train.precision = nn::Precision::tf32;
  EXPECT_OK(check_precision(job, found_none)) << "is not decided";
  Job there = job;
  decide_device(there, found_gpus);
  EXPECT_OK(check_precision(there, found_gpus));

  decide_device(job, found_none);
  const auto refused = check_precision(job, found_none);
  for (const char* const part :
       {"train.precision: expected \"float32\" or \"bf16\" with cluster.device \"auto:cpu\" (no "
        "driver), found \"tf32\", which no CPU has: products of CPUs are float32 or bf16",
        "try: a host with GPUs, or train.precision"}) {
    EXPECT_ERROR(refused, Errc::unimplemented, part);
  }
  job.train.precision = nn::Precision::float32;
  EXPECT_OK(check_precision(job, found_none));
  Job emulated = job_on("emulated:1");  // as no job file can say it
  emulated.train.precision = nn::Precision::tf32;
  EXPECT_ERROR(check_precision(emulated), Errc::unimplemented,
               "cluster.device \"emulated:1\", found \"tf32\"");
}

TEST(DecideDevice, ProductsInBf16NeedAProcessorWithAUnitForThem) {
  const Bf16Kernels with{.unit = true, .vectors = "AMX"};
  const Bf16Kernels without{.unit = false, .vectors = "AVX2"};
  for (const std::string device : {"cpu", "auto:cpu", "emulated:2"}) {
    Job job = job_on(device);
    EXPECT_OK(check_bf16(job, "host b", without)) << "float32";
    job.train.precision = nn::Precision::bf16;
    EXPECT_OK(check_precision(job, found_none)) << "is a matter of each host";
    EXPECT_OK(check_bf16(job, "host b", with));
    const auto refused = check_bf16(job, "host b", without);
    for (const auto& part :
         {fmt::format("train.precision: expected \"float32\" with cluster.device \"{}\", found "
                      "\"bf16\": host b has a processor without a unit for bfloat16 (AVX512_BF16 "
                      "or AMX-BF16); oneDNN's kernels there are for AVX2",
                      device),
          std::string("try: train.precision \"float32\", or a host whose processor has one")}) {
      EXPECT_ERROR(refused, Errc::failed_precondition, part);
    }
  }
  for (const char* const device : {"cuda", "auto:cuda", "auto"}) {
    Job job = job_on(device);
    job.train.precision = nn::Precision::bf16;
    EXPECT_OK(check_bf16(job, "host b", without)) << device;
  }
}

/// The host that starts a run on others may have another processor than they have.
TEST(DecideDevice, HostsThatComputeAreAskedForTheirUnits) {
  for (const std::string launch : {"simulate", "local", "ssh", "slurm", "manual"}) {
    Job job = job_on("cpu");
    job.train.precision = nn::Precision::bf16;
    job.cluster.launch = launch;
    const bool here = launch == "simulate" || launch == "local";
    EXPECT_EQ(check_precision(job).ok(), !here || nn::has_bf16_unit()) << launch;
  }
}

TEST(DecideDevice, OrdersOfSumsThatItDoesNotHaveAreRefusedWithTheReason) {
  Job job = job_on("auto");
  job.train.reduce = "fast";
  EXPECT_OK(check_reduce(job, found_none)) << "is not decided";
  Job there = job;
  decide_device(there, found_gpus);
  EXPECT_OK(check_reduce(there, found_gpus));
  decide_device(job, found_none);
  EXPECT_ERROR(check_reduce(job, found_none), Errc::failed_precondition,
               "train.reduce: expected \"exact\" with cluster.device \"auto:cpu\" (no driver), "
               "found \"fast\": gradients on CPUs are always added in the order of ranks");
  job.train.reduce = "exact";
  EXPECT_OK(check_reduce(job, found_none));
}

TEST(DecideDevice, CheckNamesGpusThatAreNotUsed) {
  EXPECT_EQ(decided_text({}, found_gpus),
            "device cpu: not used are 2 x G; driver 1; cluster.device \"auto\" would use them");
  EXPECT_EQ(decided_text({}, found_none), "");
  EXPECT_EQ(decided_text({.kind = DeviceKind::cuda}, found_gpus), "");
  EXPECT_EQ(decided_text({.kind = DeviceKind::cpu, .automatic = true}, found_none),
            "device auto: cpu (no driver)");
}

TEST(DeviceText, SaysWhatDevicesDoAndWhatTheHostDoes) {
  const DevicePlan all{.learns = true, .batches = true};
  const DevicePlan learns{.learns = true, .why_not = "a reason"};
  EXPECT_EQ(device_text(job_on("cpu"), {}, found_gpus), "");
  EXPECT_EQ(device_text(job_on("emulated:2"), all, found_none),
            "device emulated:2: trains, makes batches");
  EXPECT_EQ(device_text(job_on("cuda:0"), learns, found_gpus),
            "device cuda:0 (2 x G; driver 1): trains; the host makes batches (a reason)");
  const DevicePlan rows{.learns = true, .rows = true, .why_not = "links"};
  EXPECT_EQ(device_text(job_on("emulated:1"), rows, found_none),
            "device emulated:1: trains, gathers rows; the host samples batches (links)");
  EXPECT_EQ(device_text(job_on("cuda"), all, found_none), "device cuda: trains, makes batches");
  EXPECT_EQ(device_text(job_on("auto:cuda"), all, found_gpus),
            "device auto:cuda (2 x G; driver 1): trains, makes batches");
  EXPECT_EQ(device_text(job_on("auto:cpu"), {}, found_none),
            "device auto:cpu (no driver): not used");
  Job coarse = job_on("cuda");
  coarse.train.precision = nn::Precision::tf32;
  EXPECT_EQ(device_text(coarse, all, found_gpus),
            "device cuda (2 x G; driver 1): trains, makes batches; products in tf32");
  for (const auto& [device, text] :
       {std::pair{"cpu", "device cpu: products in bf16"},
        std::pair{"auto:cpu", "device auto:cpu (no driver): not used; products in bf16"},
        std::pair{"emulated:2", "device emulated:2: trains, makes batches; products in bf16"}}) {
    Job words = job_on(device);
    words.train.precision = nn::Precision::bf16;
    const bool emulated = words.cluster.device.kind == DeviceKind::emulated;
    EXPECT_EQ(device_text(words, emulated ? all : DevicePlan{}, found_none), text);
  }
  Job links = job_on("emulated:1");
  links.task.kind = "link";
  EXPECT_EQ(device_text(links, all, found_none), "device emulated:1: trains, makes batches");
  const DevicePlan servers{.learns = true, .batches = true, .exact_on_host = true};
  EXPECT_EQ(
      device_text(job_on("cuda"), servers, found_none),
      "device cuda: trains, makes batches; exact inference on CPUs (processes with parts have "
      "no ranks)");
  Job triples = job_on("emulated:1");
  triples.task.kind = "knowledge";
  triples.embedding["entity"] = {};
  EXPECT_EQ(
      device_text(triples, all, found_none),
      "device emulated:1: trains, makes batches; learned rows and their gradients pass through "
      "the host");
}

}  // namespace
}  // namespace troupe
