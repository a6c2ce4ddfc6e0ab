// What a client leaves behind when its connection ends: a write that is made then, and
// keys that go. Made for the few clients that have any. Owned by `Lifetimes`; until its connection
// ends the session names it.

import PlugboardMemory
import PlugboardWire

typealias LegacyHandle = Handle<Legacy>

/// The will of one client, and the chain of keys that it bound to its connection.
struct Legacy: ~Copyable {
    /// The places of its bonds in `Lifetimes`, from first to last; negative where there is none.
    var first: Int32 = -1
    var last: Int32 = -1
    /// Of another connection that has ended: the next in the queue.
    var next: LegacyHandle?
    var will: Will?

    /// What its will takes up; 0 where it has none.
    var willBytes: Int { Self.bytes(of: will) }

    static func bytes(of will: borrowing Will?) -> Int {
        switch will {
        case .some(let will): will.bytes.count
        case .none: 0
        }
    }

    init() {}
}

/// A write that was left for later, with bytes of its own.
struct Will: ~Copyable {
    /// Its ranges are of `bytes`.
    let write: Request
    private let memory: ByteBuffer

    /// Copies what the write needs of the line it stood in.
    init(_ write: Request, in line: Span<UInt8>) {
        var copy = write
        var memory = ByteBuffer()
        copy.key = Self.keep(write.key, of: line, in: &memory)
        copy.value = Self.keep(write.value, of: line, in: &memory)
        copy.field = Self.keep(write.field, of: line, in: &memory)
        copy.originStart = memory.count
        memory.append(write.origin(of: line))
        self.write = copy
        self.memory = memory
    }

    /// What the write's ranges refer to.
    var bytes: Span<UInt8> { memory.bytes }

    private static func keep(
        _ range: ByteRange,
        of line: Span<UInt8>,
        in memory: inout ByteBuffer
    ) -> ByteRange {
        let start = memory.count
        memory.append(range.bytes(of: line))
        return ByteRange(start, memory.count)
    }
}
