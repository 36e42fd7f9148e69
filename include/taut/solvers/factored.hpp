#pragma once

namespace taut {

/// A reserve makes room for the factors of dense problems of up to this many rows. A larger dense problem allocates
/// when it is first met; a sparse one never has a dense matrix.
inline constexpr int kFactoredRows = 1'200;

}  // namespace taut
