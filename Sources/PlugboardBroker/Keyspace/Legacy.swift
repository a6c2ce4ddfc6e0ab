// What a client leaves behind when its connection ends: a write that is made then, and bound keys that are
// deleted. Only clients that have either get one. Owned by `Lifetimes`. The session holds its handle until
// the connection ends.

import PlugboardMemory
import PlugboardWire

typealias LegacyHandle = Handle<Legacy>

/// The will of one client, and the chain of keys that it bound to its connection.
struct Legacy: ~Copyable {
    /// The places of its first and last bond in `Lifetimes`; negative if there are none.
    var first: Int32 = -1
    var last: Int32 = -1
    /// Once the connection has ended: the next in the queue.
    var next: LegacyHandle?
    var will: Will?

    /// The size of its will; 0 if there is none.
    var willBytes: Int { Self.bytes(of: will) }

    static func bytes(of will: borrowing Will?) -> Int {
        switch will {
        case .some(let will): will.bytes.count
        case .none: 0
        }
    }

    init() {}
}

/// A write for later, with a copy of its bytes.
struct Will: ~Copyable {
    /// Its ranges are of `bytes`.
    let write: Request
    private let memory: ByteBuffer

    /// Copies what the write needs from its line.
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

    /// The bytes that the write's ranges refer to.
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
