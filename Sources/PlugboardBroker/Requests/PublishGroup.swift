// Publishes that one client sent in a row: all of them are read, then all their keys are
// looked for, then they are made one after the other. So among very many keys the memory
// of several is fetched at once, where one after the other would wait for each. Owned by
// `Requests`, and empty whenever the loop does anything but execute a client's lines.

import PlugboardMemory
import PlugboardWire

/// A publish that was read and is not yet made. Its line lies where it was read.
struct WaitingPublish: BitwiseCopyable {
    var request = Request()
    /// Where its line lies among the bytes that were read.
    var line = ByteRange.none
    /// The number of the line among its client's.
    var number: UInt64 = 0
    var hash: UInt64 = 0
}

/// The first of the lines that a turn left for the next: where it lies among the bytes that were read, and
/// its number among its client's.
struct LeftOver: Equatable, BitwiseCopyable {
    let start: Int
    let number: UInt64
}

/// The publishes that wait for each other, in their order.
struct PublishGroup: ~Copyable {
    /// More than the fetches that a processor has under way at once, so that the waits in
    /// between, for addresses that are fetched themselves, are shared by many.
    static let publishesMax = 64
    private var publishes = List(repeating: WaitingPublish(), count: publishesMax)
    private(set) var count = 0
    /// Something of each key that was looked for last, so that they are really read.
    var fetched: UInt64 = 0
    /// What was left of the group when the turn had done enough.
    var leftOver: LeftOver?
    /// Who sent them.
    private(set) var session: SessionHandle?

    init() {}

    @inline(__always) var isEmpty: Bool { count == 0 }
    @inline(__always) var isFull: Bool { count == Self.publishesMax }

    /// One of those that wait.
    subscript(index: Int) -> WaitingPublish {
        @inline(__always)
        _read { yield publishes[index] }
    }

    /// The place of the next.
    var next: WaitingPublish {
        @inline(__always)
        _read { yield publishes[count] }
        @inline(__always)
        _modify { yield &publishes[count] }
    }

    /// Counts the next one, which was read to its place.
    @inline(__always)
    mutating func countNext(from session: SessionHandle) {
        self.session = session
        count += 1
    }

    /// Takes the publishes out, so that they are read while they are made; `putBack` follows.
    @inline(__always)
    mutating func takeOut() -> List<WaitingPublish> {
        var taken = List<WaitingPublish>()
        swap(&taken, &publishes)
        count = 0
        return taken
    }

    /// Takes back the memory of the publishes, which are made.
    @inline(__always)
    mutating func putBack(_ taken: inout List<WaitingPublish>) {
        swap(&taken, &publishes)
    }
}
