// Publishes that one client sent in a row. First all of them are read, then all are made, in order. With very
// many keys, memory is asked for as soon as a publish is read: first the entry of the key's hash, some publishes
// later the observable that is found there, and again later its key and value. So it is there when the publish is
// made, and nobody has waited. Owned by `Requests`. Empty unless the loop is executing a client's lines.

import PlugboardMemory
import PlugboardWire

/// A publish that was read but not made yet. Its line stays where it was read.
struct WaitingPublish: BitwiseCopyable {
    var request = Request()
    var line = ByteRange.none
    var number: UInt64 = 0
    /// The hash of its key, if memory is asked for.
    var hash: UInt64 = 0
    /// The slot that probably has its observable; 0 if that isn't known.
    var slot: UInt32 = 0

    @inline(__always)
    mutating func read(
        _ place: Range<Int>, of bytes: Span<UInt8>, _ number: UInt64, using decoder: inout RequestDecoder
    ) -> Requests.Reading {
        let line = bytes[place]
        if RequestDecoder.isIgnored(line) { return .nothing }
        guard decoder.decodePlain(line, into: &request) else { return .unusual }
        guard request.operation == .publish else { return .other }
        self.line = ByteRange(place.lowerBound, place.upperBound)
        self.number = number
        return .publish
    }
}

/// The first line that a turn left for the next: its place among the bytes that were read, and its number.
struct LeftOver: Equatable, BitwiseCopyable {
    let start: Int
    let number: UInt64
}

struct PublishGroup: ~Copyable {
    /// So many are read before the first is made.
    static let publishesMax = 64
    /// To read so many publishes takes longer than to fetch memory.
    private static let fetchDistance = 6
    private var publishes = List(repeating: WaitingPublish(), count: publishesMax)
    private(set) var count = 0
    var leftOver: LeftOver?
    /// The slot of the last publish's observable. Many clients publish one key again and again.
    var lastSlot: UInt32 = 0
    private(set) var session: SessionHandle?

    @inline(__always) var isEmpty: Bool { count == 0 }
    @inline(__always) var isFull: Bool { count == Self.publishesMax }

    var next: WaitingPublish {
        @inline(__always)
        _read { yield publishes[count] }
        @inline(__always)
        _modify { yield &publishes[count] }
    }

    @inline(__always)
    mutating func countNext(from session: SessionHandle) {
        self.session = session
        count += 1
    }

    /// Counts the line at `start` as the next publish, if it repeats the last one with other digits. Returns
    /// where it ends; nil if it doesn't, or would be the last of the group.
    @inline(__always)
    mutating func repeatLast(at start: Int, of bytes: Span<UInt8>) -> Int? {
        guard count > 0, count < Self.publishesMax &- 1 else { return nil }
        let last = publishes[count &- 1]
        guard last.request.cause == .none, JSONScanner(bytes).repeats(last.line, at: start) else {
            return nil
        }
        let end = start &+ last.line.count
        publishes[count] = last
        publishes[count].line = ByteRange(start, end)
        publishes[count].number = last.number &+ 1
        count += 1
        return end
    }

    /// Asks for the memory of the entry that names the last publish's observable, for the observable of an earlier one,
    /// and for the text and the audience of one before that.
    @inline(__always)
    mutating func fetchAhead(_ keyspace: borrowing Keyspace, _ reach: borrowing Reach, _ bytes: Span<UInt8>) {
        let last = count &- 1
        let line = publishes[last].line.bytes(of: bytes)
        publishes[last].slot = 0
        publishes[last].hash = keyspace.hash(publishes[last].request.key.bytes(of: line))
        keyspace.prefetch(publishes[last].hash)
        fetchObservable(at: last &- Self.fetchDistance, keyspace)
        fetchText(at: last &- 2 &* Self.fetchDistance, keyspace, reach)
    }

    /// Asks for the memory that `fetchAhead` hasn't come to.
    mutating func fetchLast(_ keyspace: borrowing Keyspace, _ reach: borrowing Reach) {
        let distance = Self.fetchDistance
        for index in max(0, count - distance)..<count { fetchObservable(at: index, keyspace) }
        for index in max(0, count - 2 * distance)..<count { fetchText(at: index, keyspace, reach) }
    }

    @inline(__always)
    private mutating func fetchObservable(at index: Int, _ keyspace: borrowing Keyspace) {
        guard index >= 0 else { return }
        publishes[index].slot = keyspace.prefetchObservable(publishes[index].hash)
    }

    @inline(__always)
    private func fetchText(at index: Int, _ keyspace: borrowing Keyspace, _ reach: borrowing Reach) {
        guard index >= 0 else { return }
        keyspace.prefetchText(inSlot: publishes[index].slot)
        reach.prefetch(slot: publishes[index].slot)
    }

    /// Takes the publishes out, so that they can be read while they are made, or puts them back, to be used again.
    @inline(__always)
    mutating func exchange(_ others: inout List<WaitingPublish>) {
        swap(&others, &publishes)
        count = 0
    }
}
