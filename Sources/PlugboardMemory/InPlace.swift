// A structure that could be held in registers is copied to the stack wherever it is borrowed, however large it is:
// the compiler does that for thousands of bytes. A member that has to stay where it is prevents that.

import Synchronization

/// Put this into a large structure, so that whoever borrows it is handed its address. It holds nothing.
public struct InPlace: ~Copyable {
    /// An atomic value can't leave its place in memory.
    private let anchor = Atomic<UInt8>(0)

    public init() {}
}
