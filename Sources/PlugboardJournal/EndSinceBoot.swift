// When a value ends, by a clock that nobody can set: in milliseconds since the machine started, together with a
// mark of that start. The time of day may be set back while no broker runs, and then it proves nothing.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The end of a value. It is known as long as the machine isn't started anew.
public struct EndSinceBoot: Equatable, Sendable {
    /// A checksum of the identity of the machine's start.
    let boot: UInt32
    /// Milliseconds since then.
    let milliseconds: UInt64

    /// The end after some milliseconds; nil if it isn't known which start this is.
    public init?(in milliseconds: UInt64, boot: String, _ time: TimeSource) {
        guard let mark = Signpost.mark(ofBoot: boot) else { return nil }
        self.init(boot: mark, milliseconds: time.millisecondsSinceBoot() &+ milliseconds)
    }

    init(boot: UInt32, milliseconds: UInt64) {
        (self.boot, self.milliseconds) = (boot, milliseconds)
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
