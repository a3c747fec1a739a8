#pragma once
/// \file format_folders.hpp
/// A small folder in each format that `import` reads beside plain NumPy files; the marker by which
/// the fuzz target tells them apart is the file that each begins with.
#include "tests/support/zip_writer.hpp"

#include "fuzz/array_files.hpp"

#include <map>
#include <string>
#include <vector>

namespace troupe::fuzz {

inline std::vector<File> npy_graph_folder() {
  return {text_file("graph.json", R"({"node_types": {
  "author": {"count": 3, "features": "x.npy", "labels": "y.npy",
             "columns": {"rank": "y.npy", "wide": "x.npy"}},
  "paper": {"count": 4, "features": {"indptr": "indptr.npy", "indices": "indices.npy",
            "data": "data.npy", "columns": 5}},
  "venue": {"count": 2, "features": "one-hot"}},
 "edge_types": {
  "cites": {"source": "paper", "destination": "paper", "edges": "cites.npy"},
  "in": {"source": "paper", "destination": "venue", "edges": "in.npy", "reverse_edges": true},
  "wrote": {"source": "author", "destination": "paper", "edges": "wrote.npy",
            "weights": "w.npy", "times": "t.npy", "features": "e.npy",
            "columns": {"rate": "w.npy"}}},
 "splits": {"": {"train": {"paper": "train.npy"}}, "40": {"val": {"author":
  {"ids": "v.npy", "times": "vt.npy"}}}},
 "links": {"": {"train": {"wrote": {"ends": "l.npy", "times": "t.npy", "labels": "w.npy"}},
                "val": {"in": "in.npy"}}}})"),
          float_file("x.npy", {3, 2}, {0, 1, 2, 3, 4, 5}),
          id_file("y.npy", {3}, {1, -1, 0}),
          id_file("indptr.npy", {5}, {0, 1, 1, 3, 3}),
          array_file("indices.npy", {'i', 4}, {3}, std::vector<std::int32_t>{2, 0, 1}),
          float_file("data.npy", {3}, {0.5F, 2, 3}),
          id_file("cites.npy", {2, 2}, {0, 1, 2, 3}),
          id_file("in.npy", {3, 2}, {0, 1, 3, 0, 2, 1}),
          array_file("wrote.npy", {'i', 4}, {2, 3}, std::vector<std::int32_t>{0, 1, 2, 3, 3, 0}),
          float_file("w.npy", {3}, {0.25F, 1, 4}),
          id_file("t.npy", {3}, {30, 20, 10}),
          array_file("e.npy", {'f', 8}, {3, 1}, std::vector<double>{7, 8, 9}),
          id_file("train.npy", {2}, {3, 1}),
          id_file("v.npy", {1}, {2}),
          id_file("vt.npy", {1}, {-5}),
          id_file("l.npy", {3, 2}, {2, 3, 0, 1, 2, 3})};
}

inline std::vector<File> dgl_folder() {
  return {text_file("metadata.json", R"({"graph_name": "g", "node_type": ["author", "paper"],
 "num_nodes_per_chunk": [[2, 1], [2, 2]],
 "edge_type": ["author:writes:paper", "paper:cites:paper"],
 "num_edges_per_chunk": [[2, 1], [2, 1]],
 "edges": {
  "author:writes:paper": {"format": {"name": "csv", "delimiter": " "}, "data": ["w0.csv", "w1.csv"]},
  "paper:cites:paper": {"format": {"name": "numpy"}, "data": ["c0.npy", "c1.npy"]}},
 "node_data": {"paper": {
  "feat": {"format": {"name": "numpy"}, "data": ["f0.npy", "f1.npy"]},
  "label": {"format": {"name": "numpy"}, "data": ["l0.npy", "l1.npy"]},
  "train_mask": {"format": {"name": "numpy"}, "data": ["m0.npy", "m1.npy"]},
  "node_c": {"format": {"name": "numpy"}, "data": ["f0.npy", "f1.npy"]},
  "test_idx": {"format": {"name": "csv", "delimiter": " "}, "data": ["test.csv"]}}},
 "edge_data": {"author:writes:paper": {
  "feat": {"format": {"name": "numpy"}, "data": ["weight.npy"]},
  "edge_w": {"format": {"name": "numpy"}, "data": ["weight.npy"]},
  "edge_t": {"format": {"name": "csv", "delimiter": " "}, "data": ["t0.csv", "t1.csv"]}}}})"),
          text_file("t0.csv", "7\n-8\n"),
          text_file("t1.csv", "9\n"),
          text_file("w0.csv", "0 1\n2 0\n"),
          text_file("w1.csv", "1 3\n"),
          id_file("c0.npy", {2, 2}, {0, 1, 1, 2}),
          id_file("c1.npy", {1, 2}, {3, 0}),
          float_file("f0.npy", {2, 2}, {0, 1, 2, 3}),
          float_file("f1.npy", {2, 2}, {4, 5, 6, 7}),
          id_file("l0.npy", {2}, {1, 0}),
          id_file("l1.npy", {2}, {-1, 2}),
          array_file("m0.npy", {'b', 1}, {2}, std::vector<std::uint8_t>{1, 0}),
          array_file("m1.npy", {'b', 1}, {2}, std::vector<std::uint8_t>{0, 1}),
          text_file("test.csv", "2\n"),
          array_file("weight.npy", {'i', 4}, {3, 1}, std::vector<std::int32_t>{1, 2, 3})};
}

inline std::vector<File> graphbolt_folder() {
  return {text_file("metadata.yaml", R"(dataset_name: g  # a comment
graph:
  nodes:
    - type: paper
      num: 4
    - {type: author, num: 2}
  edges:
    - type: "paper:cites:paper"
      format: csv
      path: cites.csv
    - type: author:writes:paper
      format: numpy
      path: writes.npy
feature_data:
  - domain: node
    type: paper
    name: feat
    format: numpy
    path: feat.npy
  - {domain: node, type: author, name: node_c, format: csv, path: node_c.csv}
  - {domain: edge, type: "author:writes:paper", name: feat, format: numpy, path: efeat.npy}
  - {domain: edge, type: "author:writes:paper", name: edge_w, format: numpy, path: efeat.npy}
  - {domain: edge, type: "paper:cites:paper", name: edge_t, format: csv, path: t.csv}
tasks:
  - name: node_classification
    num_classes: 5
    train_set:
      - type: paper
        data:
          - {name: seeds, format: numpy, in_memory: true, path: train.npy}
          - {name: labels, format: numpy, path: y.npy}
)"),
          text_file("cites.csv", "0,1\n2,1\n3,0\n"),
          text_file("t.csv", "7\n-8\n9\n"),
          text_file("node_c.csv", "0.5,1\n2,-3e-2\n"),
          id_file("writes.npy", {2, 2}, {0, 1, 3, 2}),
          float_file("feat.npy", {4, 1}, {0, 1, 2, 3}),
          float_file("efeat.npy", {2, 1}, {5, 6}),
          id_file("train.npy", {2}, {3, 1}),
          id_file("y.npy", {2}, {0, 2})};
}

/// With a task whose sets are pairs.
inline std::vector<File> graphbolt_links_folder() {
  auto folder = graphbolt_folder();
  const std::string task = R"(  - name: links
    train_set:
      - type: author:writes:paper
        data:
          - {name: seeds, format: numpy, path: pairs.npy}
          - {name: labels, format: csv, path: ratings.csv}
    test_set:
      - type: author:writes:paper
        data:
          - {name: seeds, format: csv, path: pairs.csv}
          - {name: labels, format: numpy, path: marks.npy}
          - {name: indexes, format: numpy, path: marks.npy}
)";
  folder.front().bytes.insert(folder.front().bytes.end(), task.begin(), task.end());
  folder.push_back(id_file("pairs.npy", {2, 2}, {1, 3, 0, 2}));
  folder.push_back(text_file("ratings.csv", "0.5\n-2\n"));
  folder.push_back(text_file("pairs.csv", "1,0\n0,1\n1,1\n"));
  folder.push_back(id_file("marks.npy", {3}, {1, 0, 0}));
  return folder;
}

inline std::vector<File> ogb_folder() {
  return {text_file("raw/num-node-list.csv", "4\n"),
          text_file("raw/num-edge-list.csv", "3\n"),
          text_file("raw/edge.csv", "0,1\n2,1\n3,0\n"),
          text_file("raw/edge_w.csv", "0.5\n1\n2\n"),
          text_file("raw/edge_t.csv", "7\n-8\n9\n"),
          text_file("raw/node_c.csv", "1\n2\n3\n4\n"),
          text_file("raw/node-feat.csv", "0.5,1\n2,-3e-2\n4,5\n6,7\n"),
          text_file("raw/node-label.csv", "2\n0\n1\n0\n"),
          text_file("split/time/train.csv", "3\n1\n"),
          text_file("split/time/valid.csv", "0\n"),
          text_file("split/time/test.csv", "2\n")};
}

inline std::vector<File> heterogeneous_ogb_folder() {
  const std::string writes = "raw/relations/author___writes___paper/";
  const std::string cites = "raw/relations/paper___cites___paper/";
  return {text_file("raw/num-node-dict.csv", "author,paper\n2,3\n"),
          text_file("raw/triplet-type-list.csv", "author,writes,paper\npaper,cites,paper\n"),
          text_file("raw/nodetype-has-label.csv", "author,paper\nFalse,True\n"),
          text_file(writes + "edge.csv", "0,2\n1,0\n"),
          text_file(writes + "num-edge-list.csv", "2\n"),
          text_file(cites + "edge.csv", "0,1\n"),
          text_file(cites + "num-edge-list.csv", "1\n"),
          text_file(cites + "edge-feat.csv", "0.25,8\n"),
          text_file("raw/node-feat/paper/node-feat.csv", "1,2\n3,4\n5,6\n"),
          text_file("raw/node-label/paper/node-label.csv", "0\n1\n0\n"),
          text_file("split/time/paper/train.csv", "0\n1\n"),
          text_file("split/time/paper/valid.csv", "2\n"),
          text_file("split/time/nodetype-has-split.csv", "author,paper\nFalse,True\n")};
}

/// OGB's archives: the target makes one of a folder's files.
inline std::vector<File> ogb_archives_folder() {
  return {id_file("raw/data.npz/num_nodes_list.npy", {1}, {4}),
          id_file("raw/data.npz/num_edges_list.npy", {1}, {3}),
          id_file("raw/data.npz/edge_index.npy", {2, 3}, {0, 2, 3, 1, 1, 0}),
          float_file("raw/data.npz/node_feat.npy", {4, 1}, {0.5F, 1, 2, 3}),
          float_file("raw/data.npz/edge_w.npy", {3, 1}, {0.5F, 1, 2}),
          id_file("raw/data.npz/edge_t.npy", {3}, {7, -8, 9}),
          float_file("raw/data.npz/node_c.npy", {4, 1, 1}, {4, 3, 2, 1}),
          float_file("raw/node-label.npz/node_label.npy", {4, 1}, {2, -1, 1, 0}),
          text_file("split/time/train.csv", "3\n1\n"),
          id_file("split/time/valid.npy", {1}, {0}),
          id_file("split/time/train_links.npy", {2, 2}, {0, 1, 2, 3})};
}

inline std::vector<File> heterogeneous_ogb_archives_folder() {
  const std::string writes = "author___writes___paper.npy";
  const std::string cites = "paper___cites___paper.npy";
  return {id_file("raw/num_nodes_dict.npz/author.npy", {1}, {2}),
          id_file("raw/num_nodes_dict.npz/paper.npy", {1}, {3}),
          id_file("raw/num_edges_dict.npz/" + writes, {1}, {2}),
          id_file("raw/num_edges_dict.npz/" + cites, {1}, {1}),
          id_file("raw/edge_index_dict.npz/" + writes, {2, 2}, {0, 1, 2, 0}),
          id_file("raw/edge_index_dict.npz/" + cites, {2, 1}, {0, 1}),
          id_file("raw/edge_t_dict.npz/" + writes, {2, 1}, {7, 8}),
          float_file("raw/edge_feat_dict.npz/" + cites, {1, 2}, {0.25F, 8}),
          float_file("raw/node_feat_dict.npz/paper.npy", {3, 1}, {1, 2, 3}),
          id_file("raw/node-label.npz/paper.npy", {3, 1}, {0, 1, 0}),
          text_file("split/time/paper/train.csv", "0\n1\n"),
          text_file("split/time/paper/valid.csv", "2\n")};
}

/// An archive as it lies in a file, so that its own numbers are mutated too.
inline std::vector<File> ogb_archive_file() {
  testing::ZipWriter writer;
  for (const auto& file : ogb_archives_folder()) {
    const std::string archive = "raw/data.npz/";
    if (file.name.starts_with(archive)) {
      writer.add({.name = file.name.substr(archive.size()),
                  .bytes = {file.bytes.begin(), file.bytes.end()},
                  .deflate = file.name.ends_with("feat.npy"),
                  .wide = true});
    }
  }
  return {text_file("raw/data.npz", writer.finish({.wide = true}).text()),
          text_file("split/time/train.csv", "3\n1\n")};
}

inline std::vector<File> ogb_lsc_folder() {
  return {array_file("processed/paper/node_feat.npy", {'f', 2}, {3, 1},
                     std::vector<std::uint16_t>{0x3C00, 0, 0x4000}),
          float_file("processed/paper/node_label.npy", {3}, {0, 1, 0}),
          id_file("processed/author___writes___paper/edge_index.npy", {2, 2}, {0, 1, 2, 0}),
          id_file("processed/author___writes___paper/edge_t.npy", {2}, {5, -5}),
          id_file("processed/paper/node_c.npy", {3, 2}, {1, 2, 3, 4, 5, 6}),
          id_file("processed/paper___cites___paper/edge_index.npy", {2, 1}, {0, 1}),
          id_file("train.npy", {2}, {0, 2})};
}

inline std::vector<File> triples_folder() {
  return {text_file("train.txt", "ann\tknows\tbob\nbob\tlikes\tan apple\r\n\n#1\tknows\tann\n"),
          text_file("valid.txt", "bob\tknows\tann\n"),
          text_file("test.txt", "ann\tlikes\tbob\ncarl\thates\tann\n")};
}

inline std::vector<File> edgelist_folder() {
  return {text_file("edges.txt", "# two, numbers\n0 1\n2,1\n\n3;0 0.5\n"),
          text_file("options", "\x01")};
}

inline std::vector<File> edgelist_with_values_folder() {
  return {text_file("edges.txt", "0 1 0.5 7\n2,1,1e-3,-8\r\n3;0;0;9\n"),
          text_file("options", "\x40")};
}

inline std::vector<File> edgelist_document_folder() {
  return {text_file("a.csv", "u,i,w,t\nann,1,0.5,7\nbob,2,1e-3,-8\n"),
          text_file("b.txt", "bob ann\n# one\nann carl\n"), text_file("lists.json", R"({
  "node_types": {"i": {"first_id": 1, "count": 5}, "u": {"ids": "text"}},
  "edge_types": {
    "r": {"source": "u", "destination": "i", "edges": ["a.csv"], "header": true, "columns": [0, 1],
          "weight_column": 2, "time_column": 3, "edge_columns": ["x=2:f64"], "reverse_edges": true},
    "k": {"source": "u", "destination": "u", "edges": "b.txt", "symmetrize": true}}})")};
}

/// A folder with options asked for, as the fuzz target has them.
inline std::vector<File> with_options(std::vector<File> folder, const std::string& options) {
  folder.push_back(text_file("options", options));
  return folder;
}
/// Weights and times.
inline std::vector<File> with_values(std::vector<File> folder) {
  return with_options(std::move(folder), "\x40");
}
/// Weights, times and named columns.
inline std::vector<File> with_columns(std::vector<File> folder) {
  return with_options(std::move(folder), "\x40\x01");
}

/// By the names of the corpus' inputs.
inline std::map<std::string, std::vector<File>> format_folders() {
  return {{"npy-graph", npy_graph_folder()},
          {"dgl", dgl_folder()},
          {"dgl-values", with_values(dgl_folder())},
          {"dgl-columns", with_columns(dgl_folder())},
          {"graphbolt", graphbolt_folder()},
          {"graphbolt-columns", with_columns(graphbolt_folder())},
          {"graphbolt-values", with_values(graphbolt_folder())},
          {"graphbolt-links", graphbolt_links_folder()},
          {"ogb", ogb_folder()},
          {"ogb-values", with_values(ogb_folder())},
          {"ogb-columns", with_columns(ogb_folder())},
          {"ogb-heterogeneous", heterogeneous_ogb_folder()},
          {"ogb-archives", with_values(ogb_archives_folder())},
          {"ogb-archives-columns", with_columns(ogb_archives_folder())},
          {"ogb-archives-heterogeneous", heterogeneous_ogb_archives_folder()},
          {"ogb-archive-file", ogb_archive_file()},
          {"ogb-lsc", ogb_lsc_folder()},
          {"ogb-lsc-columns", with_options(ogb_lsc_folder(), std::string("\x00\x01", 2))},
          {"triples", triples_folder()},
          {"edgelist", edgelist_folder()},
          {"edgelist-document", edgelist_document_folder()},
          {"edgelist-values", edgelist_with_values_folder()},
          {"edgelist-columns",
           with_columns({text_file("edges.txt", "0 1 0.5 7\n2,1,1e-3,-8\r\n3;0;0;9\n")})}};
}

}  // namespace troupe::fuzz
