#include "reference/machine/exec/matrix_fragments.h"

#include "reference/support/error.h"

namespace bitgate::machine {

void list_fragment(InstructionBuilder& builder, std::size_t operand, std::size_t count,
                   bool defines, Kind kind, Immediates immediates) {
  const ptx::Operand& vector = builder.operand(operand);
  const std::vector<ptx::Operand> single{vector};
  const auto& elements = vector.kind == ptx::Operand::Kind::vector ? vector.elements : single;
  if (elements.size() != count) throw Unsupported("a fragment of another size");
  for (const ptx::Operand& element : elements) {
    if (defines) {
      builder.list_define(element, kind);
    } else {
      builder.list_use(element, kind, immediates);
    }
  }
}

void whole_warp(InstructionBuilder& builder, Handler handler) {
  builder.use_constant(&Op::a, Kind::b32, kAllLanes);
  builder.op.flow = Flow::converge;
  builder.op.full = handler;
}

std::vector<numeric::TensorType> tensor_types(const InstructionBuilder& builder) {
  std::vector<numeric::TensorType> types;
  for (const std::string& modifier : builder.text.modifiers) {
    for (int i = 0; i <= static_cast<int>(numeric::TensorType::s32); ++i) {
      const auto type = static_cast<numeric::TensorType>(i);
      if (numeric::name(type) == modifier) types.push_back(type);
    }
  }
  return types;
}

void require_type(const Context& x, numeric::TensorType type) {
  const numeric::TensorModel& model = *x.state->tensor_model;
  const bool fp8 = type == numeric::TensorType::e4m3 || type == numeric::TensorType::e5m2;
  if (fp8 && model.fp8.kind == numeric::Fp8Rule::Kind::absent) {
    throw_fault(Fault::Kind::unsupported, -1,
                "the tensor model '" + std::string(model.name) + "' has no mma of e4m3 and e5m2");
  }
}

}  // namespace bitgate::machine
