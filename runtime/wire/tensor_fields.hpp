#pragma once
/// \file tensor_fields.hpp
/// How the messages of tensors travel: the fields of runtime/feature/tensor_messages.hpp. Only for codecs and
/// tests, by way of message_fields.hpp.
#include "runtime/feature/tensor_messages.hpp"
#include "runtime/wire/codec_support.hpp"
#include "runtime/wire/fields.hpp"
#include "schema/tensors.capnp.h"

namespace troupe::net {

template <>
struct Fields<MakeTensor> {
  using Root = wire::MakeTensor;
  static constexpr std::tuple fields{field::value("writer", &MakeTensor::writer),
                                     field::value("operation", &MakeTensor::operation),
                                     field::value("tensor", &MakeTensor::tensor),
                                     field::value("gone", &MakeTensor::gone),
                                     field::text("name", &MakeTensor::name, max_tensor_name),
                                     field::value("of", &MakeTensor::of),
                                     field::value("type", &MakeTensor::type),
                                     field::value("first", &MakeTensor::first),
                                     field::value("count", &MakeTensor::count),
                                     field::value("dtype", &MakeTensor::dtype),
                                     field::value("cols", &MakeTensor::cols),
                                     field::value("start", &MakeTensor::start),
                                     field::value("size", &MakeTensor::size),
                                     field::value("seed", &MakeTensor::seed)};
};

template <>
struct Fields<WriteTensor> {
  using Root = wire::WriteTensor;
  static constexpr std::tuple fields{field::value("writer", &WriteTensor::writer),
                                     field::value("operation", &WriteTensor::operation),
                                     field::value("tensor", &WriteTensor::tensor),
                                     field::value("add", &WriteTensor::add),
                                     field::value("rowBytes", &WriteTensor::row_bytes),
                                     field::value("first", &WriteTensor::first),
                                     field::value("count", &WriteTensor::count),
                                     field::array(0, &WriteTensor::ids),
                                     field::array<std::uint8_t>(1, &WriteTensor::values)};

  static Status check(std::string_view message, const WriteTensor& write) {
    TROUPE_RETURN_IF_ERROR(check_tensor_places(message, write.places(), write.row_bytes));
    return expect_equal(message, "bytes of rows", tensor_bytes(write.places(), write.row_bytes),
                        write.values.bytes.size());
  }
};

template <>
struct Fields<ReadTensor> {
  using Root = wire::ReadTensor;
  static constexpr std::tuple fields{
      field::value("tensor", &ReadTensor::tensor), field::value("rowBytes", &ReadTensor::row_bytes),
      field::value("first", &ReadTensor::first), field::value("count", &ReadTensor::count),
      field::array(0, &ReadTensor::ids)};

  static Status check(std::string_view message, const ReadTensor& read) {
    return check_tensor_places(message, read.places(), read.row_bytes);
  }
};

template <>
struct Fields<TensorRows> {
  using Root = wire::TensorRows;
  static constexpr std::tuple fields{field::array<std::uint8_t>(0, &TensorRows::values)};
};

template <>
struct Fields<KeepTensors> {
  using Root = wire::KeepTensors;
  static constexpr std::tuple fields{field::value("writer", &KeepTensors::writer),
                                     field::value("operation", &KeepTensors::operation),
                                     field::value("step", &KeepTensors::step)};
};

template <>
struct Fields<DropTensors> {
  using Root = wire::DropTensors;
  static constexpr std::tuple fields{field::value("step", &DropTensors::step)};
};

template <>
struct Fields<ReadTensorCopy> {
  using Root = wire::ReadTensorCopy;
  static constexpr std::tuple fields{field::value("step", &ReadTensorCopy::step),
                                     field::value("tensor", &ReadTensorCopy::tensor),
                                     field::value("row", &ReadTensorCopy::row)};
};

/// Of a checkpoint's rows, whichever way they go.
inline constexpr std::tuple tensor_piece_fields{
    field::value("step", &TensorPiece::step),
    field::text("name", &TensorPiece::name, max_tensor_name),
    field::value("of", &TensorPiece::of),
    field::value("type", &TensorPiece::type),
    field::value("dtype", &TensorPiece::dtype),
    field::value("cols", &TensorPiece::cols),
    field::value("start", &TensorPiece::start),
    field::value("size", &TensorPiece::size),
    field::value("seed", &TensorPiece::seed),
    field::value("last", &TensorPiece::last),
    field::array(0, &TensorPiece::ids),
    field::array(1, &TensorPiece::runs),
    field::array<std::uint8_t>(2, &TensorPiece::values)};

template <>
struct Fields<CopiedTensors> {
  using Root = wire::CopiedTensors;
  static constexpr auto fields = std::tuple_cat(
      tensor_piece_fields, std::tuple(field::value("nextTensor", &CopiedTensors::next_tensor),
                                      field::value("nextRow", &CopiedTensors::next_row)));

  static Status check(std::string_view message, const CopiedTensors& piece) {
    return check_tensor_piece(message, piece);
  }
};

template <>
struct Fields<LoadTensors> {
  using Root = wire::LoadTensors;
  static constexpr auto fields = std::tuple_cat(
      tensor_piece_fields, std::tuple(field::value("operation", &LoadTensors::operation)));

  static Status check(std::string_view message, const LoadTensors& piece) {
    return check_tensor_piece(message, piece);
  }
};

}  // namespace troupe::net
