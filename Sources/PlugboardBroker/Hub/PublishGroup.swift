// Publishes that one client sent in a row: all of them are read, then all their keys are
// looked for, then they are made one after the other. So among very many keys the memory
// of several is fetched at once, where one after the other would wait for each. Owned by
// the hub, and empty whenever the loop does anything but execute a client's lines.

import PlugboardMemory
import PlugboardWire

/// A publish that was read and is not yet made. Its line lies where it was read.
struct WaitingPublish {
    var request: Request
    var line: UnsafeRawBufferPointer
    /// The number of the line among its client's.
    var number: UInt64
    var hash: UInt64
    /// Most likely the key's observable, as far as it is looked for in advance.
    var candidate: ObservableReference?
}

/// The publishes that wait for each other, in their order.
struct PublishGroup: ~Copyable {
    /// More than the fetches that a processor has under way at once, so that the waits in
    /// between, for addresses that are fetched themselves, are shared by many.
    static let publishesMax = 64
    private let publishes: UnsafeMutablePointer<WaitingPublish>
    private(set) var count = 0
    /// Who sent them.
    private(set) var session: SessionReference?

    init() {
        publishes = .allocate(capacity: Self.publishesMax)
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        let empty = WaitingPublish(request: Request(), line: nothing, number: 0, hash: 0)
        publishes.initialize(repeating: empty, count: Self.publishesMax)
    }

    deinit {
        publishes.deallocate()
    }

    @inline(__always) var isEmpty: Bool { count == 0 }
    @inline(__always) var isFull: Bool { count == Self.publishesMax }

    /// One of those that wait, or the place of the next.
    @inline(__always)
    func place(_ index: Int) -> UnsafeMutablePointer<WaitingPublish> {
        publishes + index
    }

    /// Counts the next one, whose request was read to its place.
    @inline(__always)
    mutating func append(_ line: Span<UInt8>, hash: UInt64, from session: SessionReference) {
        publishes[count].line = line.raw
        publishes[count].hash = hash
        publishes[count].number = session.pointee.line
        self.session = session
        count += 1
    }

    mutating func removeAll() {
        count = 0
    }
}
