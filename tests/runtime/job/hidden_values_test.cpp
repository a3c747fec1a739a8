#include "runtime/job/hidden_values.hpp"

#include "runtime/job/job_file.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

TEST(HiddenValues, OfTheEnvironmentAreInNoTextOfTheJob) {
  const auto reading = parse_job(R"({
      "dataset": {"path": "d"}, "sample": {"fanout": [3, 2]},
      "cluster": {"launch": "ssh", "ssh": {"env": ["KEY=sesame", "EMPTY="]},
                  "hosts": ["a 2  env=TOKEN=open=sesame", "b 1 env=X=sesame user=u"]}})",
                                 "base", {});
  ASSERT_OK(reading);
  ASSERT_EQ(to_string(reading->problems), "");
  const auto& job = reading->job;

  EXPECT_EQ(job.json.find("sesame"), std::string::npos) << job.json;
  for (const char* kept : {"KEY=***", "EMPTY=***", "a 2  env=TOKEN=***", "env=X=*** user=u"}) {
    EXPECT_NE(job.json.find(kept), std::string::npos) << kept << " in " << job.json;
  }
  EXPECT_EQ(job.cluster.ssh.env.front(), "KEY=sesame") << "processes still get it";
  EXPECT_EQ(job.cluster.named.at(0).env.front(), "TOKEN=open=sesame");
}

TEST(HiddenValues, AJobWithoutThemStaysAsItIs) {
  for (const char* text : {R"({})", R"({"cluster":{}})", R"({"cluster":{"hosts":2,"ssh":{}}})"}) {
    auto job = nlohmann::ordered_json::parse(text);
    hide_values(job);
    EXPECT_EQ(job.dump(), text);
  }
}

TEST(HiddenValues, OverridesOfACommandLineAreHidden) {
  EXPECT_EQ(hide_in_word(R"(cluster.ssh.env=["KEY=sesame"])"), "cluster.ssh.env=***");
  EXPECT_EQ(hide_in_word(R"(--set=cluster.ssh.env=["KEY=sesame"])"), "--set=cluster.ssh.env=***");
  EXPECT_EQ(hide_in_word(R"(cluster.ssh={"env":["KEY=sesame"]})"), "cluster.ssh=***");
  EXPECT_EQ(hide_in_word(R"(cluster.hosts=["a env=KEY=sesame"])"), "cluster.hosts=***");
  for (const char* word :
       {"run", "job.json", "--set", "cluster.hosts=2", "train.epochs=3", "cluster.ssh.user=env"}) {
    EXPECT_EQ(hide_in_word(word), word);
  }
}

}  // namespace
}  // namespace troupe
