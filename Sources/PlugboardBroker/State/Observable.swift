// One key with what is kept of it and who observes it. Lives in one piece of memory of its
// own, key and small value included, for as long as it has a value, an observer that names
// it exactly, or a place in the history; owned by the `ObservableTable`. What each publish
// needs comes first, so that among very many keys as little memory as possible is fetched.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

typealias ObservableReference = UnsafeMutablePointer<Observable>

/// The state of one key.
struct Observable: ~Copyable {
    /// Values up to this length lie with their key, where the first one was no longer.
    private static let inPlaceBytesMax = 512
    private static let keyOffset = 8

    /// The revision of the last write; 0 while there is no value.
    var revision: UInt64 = 0
    /// Of the patterns when `observers` was true.
    var observersGeneration: UInt64 = 0
    /// The key within the encoded piece of every event about it. Before it lie the links
    /// of `KeyOrder`, behind it the memory for a small value.
    private let prefix: UnsafeMutableRawPointer
    private let prefixCount: UInt16
    private let keyCount: UInt16
    /// In how many levels of `KeyOrder` it stands.
    let height: UInt8
    /// A token begins with `$`: only the broker writes it.
    let isReserved: Bool
    /// One of its observers acknowledges: they are told in phases.
    var hasAcknowledgers = false
    private var valueCount: UInt32 = 0
    private var valueCapacity: UInt32 = 0
    private var storage: UnsafeMutableRawPointer?
    private(set) var writer: AuthorReference?
    /// What deletes it by itself, and why the last write was made, where there is any of it.
    var marks = LifetimeMarks()
    /// Bytes of memory for a value that lies with its key.
    private let inPlaceCapacity: UInt32
    /// All that match, patterns included; true as of `observersGeneration`.
    var observers = List<SubscriptionReference>()

    var cause: WriteCause = .none
    let hash: UInt64
    /// The subscriptions that name this key exactly.
    var exactObservers = List<SubscriptionReference>()
    /// Subscriptions that are owed this key: they may have to be told that it is gone.
    var owedBy: Int32 = 0
    /// Where the subscription that was asked last has it among its `OwedKeys`: those that owe the
    /// same keys mostly have them at the same places.
    var owedPlace: Int32 = 0
    /// Without a value: the number of its last entry in the history, shortened.
    var lastEntry: UInt32 = 0
    /// Without a value: the last generation of the history that points here, 0 for none.
    var generation: UInt32 = 0

    /// Makes the observable of a key, with room for a value of about `valueCount` bytes.
    static func make(
        key: Span<UInt8>,
        hash: UInt64,
        height: Int,
        valueCount: Int
    ) -> ObservableReference {
        var buffer = ByteBuffer()
        EventEncoder.appendKeyPrefix(key, to: &buffer)
        let room = valueCount > inPlaceBytesMax ? 0 : capacity(for: valueCount)
        let linksBytes = height * MemoryLayout<ObservableReference?>.stride
        let prefixOffset = MemoryLayout<Observable>.stride + linksBytes
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: prefixOffset + buffer.count + room,
            alignment: MemoryLayout<Observable>.alignment
        )
        let prefix = memory + prefixOffset
        UnsafeMutableRawBufferPointer(start: prefix, count: buffer.count).copyMemory(from: buffer.bytes.raw)
        (prefix - linksBytes).initializeMemory(as: ObservableReference?.self, repeating: nil, count: height)
        let reference = memory.bindMemory(to: Observable.self, capacity: 1)
        let made = Observable(
            key,
            hash,
            height: height,
            prefix: prefix,
            prefixCount: buffer.count,
            room: room
        )
        reference.initialize(to: made)
        return reference
    }

    static func destroy(_ observable: ObservableReference) {
        observable.deinitialize(count: 1)
        UnsafeMutableRawPointer(observable).deallocate()
    }

    private init(
        _ key: Span<UInt8>,
        _ hash: UInt64,
        height: Int,
        prefix: UnsafeMutableRawPointer,
        prefixCount: Int,
        room: Int
    ) {
        self.prefix = prefix
        self.prefixCount = UInt16(truncatingIfNeeded: prefixCount)
        self.hash = hash
        self.height = UInt8(truncatingIfNeeded: height)
        keyCount = UInt16(truncatingIfNeeded: key.count)
        inPlaceCapacity = UInt32(truncatingIfNeeded: room)
        isReserved = Key.isReserved(key)
    }

    deinit {
        if let storage, storage != inPlace { storage.deallocate() }
        if let writer { Author.release(writer) }
    }

    /// `,"key":"…","revision":`.
    @inline(__always) var keyPrefix: Span<UInt8> {
        @_lifetime(immortal)
        get { Span(kept: prefix, count: Int(prefixCount)) }
    }

    @inline(__always) var key: Span<UInt8> {
        @_lifetime(immortal)
        get { Span(kept: prefix + Self.keyOffset, count: Int(keyCount)) }
    }

    /// The next keys in order, a level each; kept by `KeyOrder`.
    @inline(__always) var tower: UnsafeMutablePointer<ObservableReference?> {
        prefix.assumingMemoryBound(to: ObservableReference?.self) - Int(height)
    }

    @inline(__always) var hasValue: Bool { revision != 0 }
    @inline(__always) var isNeeded: Bool { hasValue || !exactObservers.isEmpty || owedBy > 0 }

    /// The kept JSON; empty while there is none.
    @inline(__always) var value: Span<UInt8> {
        @_lifetime(immortal)
        get { Span(kept: storage, count: Int(valueCount)) }
    }

    /// Who wrote the value, as events say it.
    @inline(__always) var by: Span<UInt8> {
        @_lifetime(immortal)
        get {
            guard let writer else { return Span() }
            return writer.pointee.by
        }
    }

    /// Who wrote the value, as the journal says it.
    @inline(__always) var recordedBy: Span<UInt8> {
        @_lifetime(immortal)
        get {
            guard let writer else { return Span() }
            return writer.pointee.recorded
        }
    }

    /// Reads what a write needs of an observable up to its key, for the reading's sake. No
    /// address comes from what is read, so that one wait is enough; behind an observable lie
    /// at least a link and the words around its key.
    @inline(__always)
    static func touch(_ observable: ObservableReference) -> UInt64 {
        let start = UnsafeRawPointer(observable)
        let first = start.load(as: UInt64.self) &+ start.load(fromByteOffset: 64, as: UInt64.self)
        return first &+ start.load(fromByteOffset: 128, as: UInt64.self)
    }

    /// Reads something of each line of memory that a small value takes up.
    @inline(__always)
    func touchValue() -> UInt64 {
        guard let storage, valueCount > 0 else { return 0 }
        let last = Int(valueCount) &- 1
        let ends = storage.load(as: UInt8.self) &+ storage.load(fromByteOffset: last, as: UInt8.self)
        return UInt64(ends &+ storage.load(fromByteOffset: last / 2, as: UInt8.self))
    }

    /// Whether the connection of who wrote the value still lives.
    var isLive: Bool { writer?.pointee.isLive ?? false }

    @inline(__always)
    mutating func set(
        _ value: Span<UInt8>,
        revision: UInt64,
        cause: WriteCause,
        writer: AuthorReference
    ) {
        let capacity = Int(valueCapacity)
        if value.count > capacity || (capacity > 1024 && value.count < capacity / 4) {
            resize(to: value.count)
        }
        if let storage, let source = value.raw.baseAddress {
            storage.copyMemory(from: source, byteCount: value.count)
        }
        valueCount = UInt32(truncatingIfNeeded: value.count)
        self.revision = revision
        self.cause = cause
        if self.writer != writer { replaceWriter(writer) }
    }

    /// Who deleted it and why is kept while that is still owed to somebody.
    mutating func removeValue(cause: WriteCause, writer: AuthorReference) {
        releaseStorage()
        valueCount = 0
        revision = 0
        self.cause = cause
        replaceWriter(owedBy > 0 ? writer : nil)
    }

    /// What the journal's record of it comes to beside key and value, about.
    private static let recordBytes = 96

    /// What the journal's record of it comes to, about; 0 without a value.
    var recordBytes: Int { hasValue ? Int(prefixCount) + Int(valueCount) + Self.recordBytes : 0 }

    /// What that grows by with another value.
    @inline(__always)
    func growth(to count: Int) -> Int {
        count &- Int(valueCount) &+ (hasValue ? 0 : Int(prefixCount) &+ Self.recordBytes)
    }

    /// Who deleted it, for somebody who is to be told of that later.
    mutating func keepDeleter(_ writer: AuthorReference) {
        if !hasValue, self.writer != writer { replaceWriter(writer) }
    }

    private mutating func resize(to count: Int) {
        releaseStorage()
        if count <= Int(inPlaceCapacity) {
            storage = inPlace
            valueCapacity = inPlaceCapacity
        } else {
            let capacity = Self.capacity(for: count)
            storage = .allocate(byteCount: capacity, alignment: 16)
            valueCapacity = UInt32(truncatingIfNeeded: capacity)
        }
    }

    private mutating func releaseStorage() {
        if let storage, storage != inPlace { storage.deallocate() }
        storage = nil
        valueCapacity = 0
    }

    private var inPlace: UnsafeMutableRawPointer { prefix + Int(prefixCount) }

    /// Room for the next value to be a little longer, as counters and prices are.
    private static func capacity(for count: Int) -> Int {
        count == 0 ? 0 : (count + 23) & ~15
    }

    private mutating func replaceWriter(_ author: AuthorReference?) {
        if let author { Author.retain(author) }
        if let writer { Author.release(writer) }
        writer = author
    }
}

extension Observable {
    private static var always: Invariants { Invariants(of: "Observable") }

    /// What one observable says of itself.
    func checkInvariants() throws(BrokenInvariant) {
        let name = String(key)
        try Self.always.agree(
            "the broker's own keys are known by their token",
            isReserved,
            Key.isReserved(key)
        )
        try Self.always.hold("a value fits its memory", valueCount <= valueCapacity, of: name)
        try Self.always.hold("a value has a writer", !hasValue || writer != nil, of: name)
        try Self.always.hold("without a revision there is no value", hasValue || valueCount == 0, of: name)
        try Self.always.hold("it is owed by nobody or by some", owedBy >= 0, of: name)
        try Self.always.hold(
            "something needs it, or the history names it",
            isNeeded || generation > 0,
            of: name
        )
        try Self.always.hold(
            "without a value it is bound to nothing",
            hasValue || marks.bond == nil,
            of: name
        )
    }
}
