// Bytes that several subscriptions are owed: a value that observers saw last, kept
// once for all of them until each has been told of the next.

import PlugboardMemory

/// A shared copy of some bytes.
final class HeldBytes {
    private let block: ByteBlock

    init(_ bytes: Span<UInt8>) {
        block = ByteBlock(bytes)
    }

    var bytes: Span<UInt8> {
        @_lifetime(immortal)
        get { block.kept }
    }

    var count: Int { block.count }
}
