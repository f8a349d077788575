#pragma once

namespace bitgate::machine {

class InstructionBuilder;

/// cp.async.mbarrier.arrive: the arrival of a thread's earlier copies at an mbarrier.
void decode_copies_arrive(InstructionBuilder& builder);

}  // namespace bitgate::machine
