// What a record is made of.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// One change of one key, in the form that the journal keeps.
public struct Commit: ~Copyable, ~Escapable {
    public var key: Span<UInt8>
    public var revision: UInt64
    /// The value as JSON; empty for a delete.
    public var value: Span<UInt8>
    /// The writer as members: `,"by":…`, `,"origin":…` if the write named one, and `,"user":…` if what that
    /// user keeps is counted.
    public var by: Span<UInt8>
    public var cause = WriteCause.none
    public var reason: EventReason?
    /// When it was made, in milliseconds since 1970; 0 is now.
    public var when: UInt64 = 0
    /// Whether the value ends with its writer's connection.
    public var isWhileConnected = false
    /// The `grace` of that writer's name, in milliseconds; 0 if it has none.
    public var grace: UInt64 = 0
    /// When the value ends, in milliseconds since 1970; 0 if it doesn't.
    public var expires: UInt64 = 0
    /// The same by a clock that nobody can set, if it ends.
    public var end: EndSinceBoot?

    @inlinable
    @_lifetime(copy key, copy value, copy by)
    public init(key: Span<UInt8>, revision: UInt64, value: Span<UInt8>, by: Span<UInt8>) {
        (self.revision, self.key, self.value, self.by) = (revision, key, value, by)
    }

    @inline(__always)
    var isDelete: Bool { value.isEmpty }

    @inline(__always)
    var isUnusual: Bool { cause.isNamed || reason != nil || isWhileConnected || expires > 0 }
}

// When a value ends, by a clock that nobody can set: in milliseconds since the machine started, together with a
// mark of that start. The time of day may be set back while no broker runs, and then it proves nothing.

/// The end of a value. It is known as long as the machine isn't started anew.
public struct EndSinceBoot: Equatable, Sendable {
    /// A checksum of the identity of the machine's start.
    let boot: UInt32
    /// Milliseconds since then.
    let milliseconds: UInt64

}

extension EndSinceBoot {
    /// The end after some milliseconds; nil if it isn't known which start this is.
    public init?(in milliseconds: UInt64, boot: String, _ time: TimeSource) {
        guard let mark = Signpost.mark(ofBoot: boot) else { return nil }
        self.init(boot: mark, milliseconds: time.millisecondsSinceBoot() &+ milliseconds)
    }

    /// How many milliseconds are left; nil if the machine was started anew.
    public func left(boot: String, _ time: TimeSource) -> UInt64? {
        guard Signpost.mark(ofBoot: boot) == self.boot else { return nil }
        let now = time.millisecondsSinceBoot()
        return milliseconds > now ? milliseconds - now : 0
    }

    /// Appends the members of a record that say so.
    func append(to buffer: inout ByteBuffer) {
        buffer.append(#","ends":"#)
        buffer.append(decimal: milliseconds)
        buffer.append(#","boot":""#)
        buffer.append(string: String(boot, radix: 16))
        buffer.append("\"")
    }
}
