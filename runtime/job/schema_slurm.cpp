// cluster.slurm: what Slurm is asked for, under its own names.
#include "runtime/job/schema_fields.hpp"
#include "runtime/job/schema_rows.hpp"

namespace troupe {
namespace {

using namespace schema_fields;

template <auto Field>
void put_slurm(const Json& json, Job& job) {
  auto& field = job.cluster.slurm.*Field;
  field = json.get<std::remove_reference_t<decltype(field)>>();
}

template <auto Field>
SchemaRow text_row(const char* pointer, const char* meaning) {
  return {pointer, text_rule(1), absent(), meaning, {}, put_slurm<Field>};
}

template <auto Field>
SchemaRow words_row(const char* pointer, const char* meaning) {
  return {pointer,     {.type = ValueType::text_list, .max_items = 256},
          value("[]"), meaning,
          {},          put_slurm<Field>};
}

}  // namespace

std::vector<SchemaRow> slurm_rows() {
  std::vector<SchemaRow> rows;
  rows.push_back(text_row<&SlurmJob::account>("/cluster/slurm/account", "`sbatch --account`"));
  rows.push_back(
      text_row<&SlurmJob::partition>("/cluster/slurm/partition", "`sbatch --partition`"));
  rows.push_back(text_row<&SlurmJob::time>("/cluster/slurm/time", "`sbatch --time`"));
  rows.push_back({"/cluster/slurm/nodes",
                  integer_rule(1, 1024),
                  derived("`cluster.hosts`, and the servers with `server_client`"),
                  "`sbatch --nodes`; says how many hosts there are where `cluster.hosts` does not",
                  {},
                  put_slurm<&SlurmJob::nodes>});
  rows.push_back({"/cluster/slurm/tasks_per_node",
                  integer_rule(1, 1024),
                  derived("`cluster.trainers_per_host`"),
                  "`sbatch --ntasks-per-node`: what a node's share is measured in; Troupe starts "
                  "one agent per node, which may use all of it",
                  {},
                  put_slurm<&SlurmJob::tasks_per_node>});
  rows.push_back({"/cluster/slurm/cpus_per_task",
                  integer_rule(1, 4096),
                  absent(),
                  "`sbatch --cpus-per-task`",
                  {},
                  put_slurm<&SlurmJob::cpus_per_task>});
  rows.push_back(text_row<&SlurmJob::container_image>(
      "/cluster/slurm/container_image",
      "`srun --container-image` (pyxis): the image that agents and their processes run in"));
  rows.push_back(text_row<&SlurmJob::container_mounts>(
      "/cluster/slurm/container_mounts",
      "`srun --container-mounts` (pyxis): FROM:TO[:FLAGS], comma-separated"));
  rows.push_back(text_row<&SlurmJob::program>(
      "/cluster/slurm/program",
      "the program `troupe` on the nodes, or in the container; else where it is here"));
  rows.push_back(words_row<&SlurmJob::extra_arguments>("/cluster/slurm/extra_arguments",
                                                       "further arguments of sbatch"));
  rows.push_back(words_row<&SlurmJob::srun_arguments>(
      "/cluster/slurm/srun_arguments", "further arguments of the srun that starts an agent"));
  return rows;
}

}  // namespace troupe
