#pragma once

namespace bitgate::numeric {

/// Whether this thread computes in IEEE 754's default environment: round to nearest even,
/// subnormals neither flushed (FTZ) nor read as zero (DAZ).
bool is_ieee_environment();

/// Throws std::logic_error naming what is set when it is not. Whatever turns those bits on (a
/// library built with -ffast-math does, when loaded) would change every reference's bits.
void require_ieee_environment();

}  // namespace bitgate::numeric
