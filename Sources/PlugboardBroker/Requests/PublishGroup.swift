// Publishes that one client sent in a row. First all of them are read, then all their keys are looked up,
// then all are made, in order. So with very many keys, memory is fetched for several at once instead of one
// after the other. Owned by `Requests`. Empty unless the loop is executing a client's lines.

import PlugboardMemory
import PlugboardWire

/// A publish that was read but not made yet. Its line stays where it was read.
struct WaitingPublish: BitwiseCopyable {
    var request = Request()
    /// The place of its line among the bytes that were read.
    var line = ByteRange.none
    /// The number of its line.
    var number: UInt64 = 0
    var hash: UInt64 = 0
}

/// The first line that a turn left for the next: its place among the bytes that were read, and its number.
struct LeftOver: Equatable, BitwiseCopyable {
    let start: Int
    let number: UInt64
}

/// The publishes that wait for each other, in their order.
struct PublishGroup: ~Copyable {
    /// More than a processor fetches at once, so that many publishes share the waits for addresses that have
    /// to be fetched first.
    static let publishesMax = 64
    private var publishes = List(repeating: WaitingPublish(), count: publishesMax)
    private(set) var count = 0
    /// A sum over the keys that were looked up, so that the compiler really reads them.
    var fetched: UInt64 = 0
    /// The rest of the group, if the turn had done enough.
    var leftOver: LeftOver?
    /// The client that sent them.
    private(set) var session: SessionHandle?

    init() {}

    @inline(__always) var isEmpty: Bool { count == 0 }
    @inline(__always) var isFull: Bool { count == Self.publishesMax }

    /// A waiting publish.
    subscript(index: Int) -> WaitingPublish {
        @inline(__always)
        _read { yield publishes[index] }
    }

    /// The place for the next publish.
    var next: WaitingPublish {
        @inline(__always)
        _read { yield publishes[count] }
        @inline(__always)
        _modify { yield &publishes[count] }
    }

    /// Counts the next publish, which was read to its place.
    @inline(__always)
    mutating func countNext(from session: SessionHandle) {
        self.session = session
        count += 1
    }

    /// Takes the publishes out, so that they can be read while they are made. Call `putBack` afterwards.
    @inline(__always)
    mutating func takeOut() -> List<WaitingPublish> {
        var taken = List<WaitingPublish>()
        swap(&taken, &publishes)
        count = 0
        return taken
    }

    /// Takes back the memory of the publishes.
    @inline(__always)
    mutating func putBack(_ taken: inout List<WaitingPublish>) {
        swap(&taken, &publishes)
    }
}
