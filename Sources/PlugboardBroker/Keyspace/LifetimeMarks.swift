// What few keys have besides a value, in one word, so that a plain write sees at a glance that there is
// nothing. Part of a key's extras.

import PlugboardWire

/// Whether a key is bound to a time or a connection, and why the broker made its last write.
struct LifetimeMarks: BitwiseCopyable {
    private static let reasonBits: UInt32 = 2
    private static let reasonMask: UInt32 = 3
    /// The low bits are the reason. Above them is the place of the bond, counted from 1.
    private var word: UInt32 = 0

    /// Nothing is noted, as for nearly all keys.
    @inline(__always) var isEmpty: Bool { word == 0 }

    /// The place of its bond; nil if it isn't bound.
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

    /// Why the broker made the last write; nil if a client made it.
    var reason: EventReason? {
        get { EventReason(rawValue: UInt8(truncatingIfNeeded: word & Self.reasonMask)) }
        set { word = word & ~Self.reasonMask | UInt32(newValue?.rawValue ?? 0) }
    }
}
