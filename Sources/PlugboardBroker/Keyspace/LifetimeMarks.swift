// What few keys have beyond a value, in one word, so that a plain write sees at a glance
// that there is nothing of it. Part of each observable.

import PlugboardWire

/// Notes on a key that is bound to a time or a connection, or was last written on
/// somebody's behalf.
struct LifetimeMarks: BitwiseCopyable {
    private static let reasonBits: UInt32 = 2
    private static let reasonMask: UInt32 = 3
    /// The reason below, and above it the place of the bond, counted from 1.
    private var word: UInt32 = 0

    /// Nothing is noted: so it is for nearly all keys.
    @inline(__always) var isEmpty: Bool { word == 0 }

    /// Where its bond stands among all; nil where it is bound to nothing.
    var bond: Int? {
        get {
            let place = word >> Self.reasonBits
            return place == 0 ? nil : Int(place) - 1
        }
        set {
            let place = newValue.map { UInt32(truncatingIfNeeded: $0 + 1) } ?? 0
            word = word & Self.reasonMask | place << Self.reasonBits
        }
    }

    /// Why the broker made the last write, where it did.
    var reason: EventReason? {
        get { EventReason(rawValue: UInt8(truncatingIfNeeded: word & Self.reasonMask)) }
        set { word = word & ~Self.reasonMask | UInt32(newValue?.rawValue ?? 0) }
    }
}
