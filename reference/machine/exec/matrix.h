#pragma once

#include "reference/machine/program/decode_table.h"

namespace bitgate::machine {

/// Rows of add_matrix_rows, by file.
void add_mma_rows(DecodeTable& table);
void add_volta_mma_rows(DecodeTable& table);
void add_sparse_mma_rows(DecodeTable& table);
void add_matrix_move_rows(DecodeTable& table);
void add_wmma_rows(DecodeTable& table);

}  // namespace bitgate::machine
