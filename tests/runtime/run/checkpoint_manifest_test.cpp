#include "runtime/run/checkpoint_manifest.hpp"

#include "runtime/base/self_checksum.hpp"
#include "tests/runtime/run/checkpoint_samples.hpp"
#include "tests/runtime/run/documented_keys.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <functional>
#include <set>

namespace troupe {
namespace {

using Json = nlohmann::ordered_json;
using testing::sample_checkpoint;

std::string sealed(Json json) {
  json["self_checksum"] = unsealed;
  return seal_text(json.dump(1));
}

class ManifestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const CheckpointFolderOptions options{
        .dir = scratch_.path(), .layout = testing::sample_layout, .flush = Flush::no};
    ASSERT_OK(CheckpointFolder(options).write(sample_checkpoint(7)));
    text_ = testing::file_text(file());
    json_ = Json::parse(text_);
  }
  std::filesystem::path file() const { return scratch_.path() / "step-7" / "manifest.json"; }
  /// Why step-7 is skipped with this manifest.
  std::string reason(const std::string& text) const {
    std::ofstream(file(), std::ios::trunc) << text;
    const CheckpointFolder folder({.dir = scratch_.path(), .layout = testing::sample_layout});
    std::vector<SkippedCheckpoint> skipped;
    const auto loaded = folder.latest(skipped);
    return skipped.empty() ? "" : skipped[0].why.what();
  }

  testing::ScratchFolder scratch_;
  std::string text_;
  Json json_;
};

TEST_F(ManifestTest, IsSealedAndReadsBackWithAnyChecksumThatFits) {
  EXPECT_OK(manifest_from_json(text_, "m"));
  EXPECT_EQ(reason(sealed(json_)), "");
}

TEST_F(ManifestTest, ThatLiesIsSkippedWithTheReason) {
  const auto max = ~std::uint64_t{0};
  struct Case {
    const char* message;
    std::function<void(Json&)> change;
  };
  const std::vector<Case> cases = {
      {"\"format\"", [](Json& j) { j["format"] = "troupe graph"; }},
      {"version 1, found 2", [](Json& j) { j["version"] = 2; }},
      {"\"position\"", [](Json& j) { j.erase("position"); }},
      {"/position/epoch", [](Json& j) { j["position"]["epoch"] = 1ULL << 32; }},
      {"/position/step", [](Json& j) { j["position"]["step"] = -1; }},
      {"expected step 7, found 8", [](Json& j) { j["position"]["global_step"] = 8; }},
      {"/position/loss_sum", [](Json& j) { j["position"]["loss_sum"] = nullptr; }},
      {"/position/loss_sum", [](Json& j) { j["position"]["loss_sum"] = "0x7ff80000000001zz"; }},
      {"/position/loss_sum", [](Json& j) { j["position"]["loss_sum"] = "0x7ff8"; }},
      {"/position/batches", [](Json& j) { j["position"]["batches"] = "12"; }},
      {"/store", [](Json& j) { j["store"] = "12"; }},
      {"/sampling_version", [](Json& j) { j["sampling_version"] = "one"; }},
      {"/build", [](Json& j) { j["build"] = 1; }},
      {"/device", [](Json& j) { j["device"] = 1; }},
      {"/record", [](Json& j) { j["record"] = Json::array(); }},
      {"/record/epochs/1", [](Json& j) { j["record"]["epochs"][1].erase("rows"); }},
      {"/record/epochs/0", [](Json& j) { j["record"]["epochs"][0]["best"] = 1; }},
      {"/record/valid/f1", [](Json& j) { j["record"]["valid"]["f1"] = "high"; }},
      {"/blobs/0", [max](Json& j) { j["blobs"][0]["bytes"] = max; }},
      {"of blob", [](Json& j) { j["blobs"][0]["bytes"] = 1ULL << 60; }},
      {"of blob", [](Json& j) { j["blobs"][1]["bytes"] = 4; }},
      {"2 more bytes", [](Json& j) { j["blobs"][1]["bytes"] = 1; }},
      {"ascending", [](Json& j) { j["blobs"].push_back(j["blobs"][0]); }},
      {"found 0 blobs", [](Json& j) { j["blobs"] = Json::array(); }},
      {"found 2 blobs", [](Json& j) { j["files"].erase(3); }},
      {"conv1.weight", [](Json& j) { j["files"].erase(0); }},
      {"a path among", [](Json& j) { j["files"][0]["path"] = "../../secret"; }},
      {"a path among", [](Json& j) { j["files"][0]["path"] = "manifest.json"; }},
      {"each path once", [](Json& j) { j["files"].push_back(j["files"][0]); }},
      {"/files/0", [max](Json& j) { j["files"][0]["bytes"] = max; }},
      {"expected 1152921504606846976 bytes", [](Json& j) { j["files"][0]["bytes"] = 1ULL << 60; }},
      {"expected checksum", [](Json& j) { j["files"][0]["checksum"] = std::string(32, '1'); }},
      {"expected 3 bytes", [](Json& j) { j["files"][0]["bytes"] = 3; }},
      {"/job", [](Json& j) { j["job"] = 3; }},
  };
  for (const auto& [message, change] : cases) {
    auto json = json_;
    change(json);
    const auto why = reason(sealed(json));
    EXPECT_NE(why.find(message), std::string::npos) << "expected " << message << " in: " << why;
  }
}

TEST_F(ManifestTest, KeepsStoreAndProgramOfTheRun) {
  const CheckpointOrigin origin{std::string(32, 'a'), 4, "0.1 GNU Release", "cpu"};
  ASSERT_OK_AND_ASSIGN(const auto text, manifest_to_json(sample_checkpoint(7), origin, {}));

  ASSERT_OK_AND_ASSIGN(const auto with, manifest_from_json(text, "m"));
  ASSERT_OK_AND_ASSIGN(const auto older, manifest_from_json(text_, "m"));

  EXPECT_EQ(with.checkpoint.origin, origin);
  EXPECT_EQ(older.checkpoint.origin, CheckpointOrigin());
}

TEST_F(ManifestTest, OfAnEarlierVersionHasNoBatchesInFlight) {
  for (auto& epoch : json_["record"]["epochs"]) {
    EXPECT_EQ(epoch.erase("batches_in_flight"), 1U);
  }

  ASSERT_OK_AND_ASSIGN(const auto older, manifest_from_json(sealed(json_), "m"));

  EXPECT_EQ(older.checkpoint.record.epochs.at(0).counters.batches_in_flight, 0U);
}

TEST_F(ManifestTest, ThatIsNoManifestIsSkipped) {
  const std::string deep(1'000'000, '[');
  for (const auto& text : {std::string(), std::string("null"), std::string("[]"), deep,
                           text_ + deep, text_.substr(0, text_.size() / 2)}) {
    EXPECT_NE(reason(text).find("manifest.json"), std::string::npos);
  }
}

/// "a/b" for each member below `json`; items of arrays count as their array.
void collect_keys(const Json& json, const std::string& place, std::set<std::string>& keys) {
  if (json.is_array()) {
    for (const auto& item : json) {
      collect_keys(item, place + "[]", keys);
    }
  } else if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      collect_keys(value, place.empty() ? key : place + "." + key, keys);
    }
  } else {
    keys.insert(place);
  }
}

TEST_F(ManifestTest, HasTheKeysThatTheDocumentationLists) {
  auto checkpoint = sample_checkpoint(7);
  checkpoint.record.test = Scores{.labelled = 1, .accuracy = 1, .f1 = 1, .auc = 1};
  checkpoint.record.valid = checkpoint.record.test;
  ASSERT_OK_AND_ASSIGN(
      const auto text,
      manifest_to_json(checkpoint, {std::string(32, 'a'), 1, "b", "cpu"}, {FileInfo()}));

  std::set<std::string> keys;
  collect_keys(Json::parse(text), "", keys);
  EXPECT_EQ(keys, testing::documented_keys("manifest.json"));
}

}  // namespace
}  // namespace troupe
