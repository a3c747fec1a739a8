#include "runtime/job/schema_fields.hpp"
#include "runtime/job/schema_rows.hpp"

#include <array>
#include <fmt/format.h>

namespace troupe {

using namespace schema_fields;

std::vector<SchemaRow> seed_file_rows() {
  std::vector<SchemaRow> rows;
  struct RoleKey {
    const char* role;
    const char* ids;
    const char* times;
  };
  constexpr std::array<RoleKey, 3> keys{
      {{"train", "/dataset/seeds/train", "/dataset/seeds/times/train"},
       {"val", "/dataset/seeds/val", "/dataset/seeds/times/val"},
       {"test", "/dataset/seeds/test", "/dataset/seeds/times/test"}}};
  for (const auto& key : keys) {
    rows.push_back({key.ids,
                    text_rule(1),
                    absent(),
                    fmt::format("file of original ids that are the {} seeds, in place of the "
                                "split's; relative to the job file",
                                key.role),
                    {},
                    [role = key.role](const Json& v, Job& job) {
                      job.dataset.seeds[role].ids = v.get<std::string>();
                    }});
  }
  rows.push_back(
      {"/dataset/seeds/type",
       text_rule(0),
       value("\"\""),
       "node type of those seeds, or edge type of the links; \"\": that of the split's, or "
       "the only one",
       {},
       put<&Job::dataset, &DatasetJob::seeds_type>});
  for (const auto& key : keys) {
    rows.push_back(
        {key.times,
         text_rule(1),
         absent(),
         fmt::format("file of the times of `dataset.seeds.{}`, an integer each; relative "
                     "to the job file",
                     key.role),
         {},
         [role = key.role](const Json& v, Job& job) {
           job.dataset.seeds[role].times = v.get<std::string>();
         }});
  }
  return rows;
}

}  // namespace troupe
