#pragma once
/// \file targets.hpp
/// All fuzz targets by name; the corpus of NAME is fuzz/corpus/NAME.
#include "fuzz/target.hpp"

#include <array>

namespace troupe::fuzz {

void run_job(Input input);                   ///< a job file's text
void run_overrides(Input input);             ///< `--set` arguments, one a line
void run_text(Input input);                  ///< digests, dtypes, names and paths
void run_npy(Input input);                   ///< one .npy file
void run_graph_json(Input input);            ///< graph.json, then 0x1e and partition.json
void run_store(Input input);                 ///< the files of a store (file_set.hpp)
void run_import(Input input);                ///< the files of a folder to import (file_set.hpp)
void run_import_formats(Input input);        ///< a folder in one of the other formats
void run_heterogeneous_schema(Input input);  ///< the schema of a graph to generate
void run_pieces(Input input);                ///< bytes from a link
void run_handshake(Input input);   ///< what a peer sends before it is let in (handshake_input.hpp)
void run_model_file(Input input);  ///< a safetensors file
void run_checkpoint(Input input);  ///< the files of a checkpoint (file_set.hpp)
void run_codec(Input input);       ///< one frame (frame_input.hpp), and the use of what it says

struct Target {
  const char* name;
  void (*run)(Input);
};
inline constexpr std::array<Target, 14> targets{{{"job", run_job},
                                                 {"overrides", run_overrides},
                                                 {"text", run_text},
                                                 {"npy", run_npy},
                                                 {"graph_json", run_graph_json},
                                                 {"store", run_store},
                                                 {"import", run_import},
                                                 {"import_formats", run_import_formats},
                                                 {"heterogeneous_schema", run_heterogeneous_schema},
                                                 {"pieces", run_pieces},
                                                 {"handshake", run_handshake},
                                                 {"model_file", run_model_file},
                                                 {"checkpoint", run_checkpoint},
                                                 {"codec", run_codec}}};

}  // namespace troupe::fuzz
