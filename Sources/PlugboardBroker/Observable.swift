// One key with what is kept of it and who observes it. Lives in memory of its own
// for as long as it has a value, an observer that names it exactly, or a place in the
// history; owned by the `ObservableTable`.

import PlugboardPosix
import PlugboardWire

typealias ObservableReference = UnsafeMutablePointer<Observable>

/// The state of one key.
struct Observable: ~Copyable {
    let hash: UInt64
    /// The key within `prefix`, the encoded piece of every event about it.
    private let prefix: UnsafeMutableRawBufferPointer
    private static let keyOffset = 8
    private let keyCount: Int
    /// A token begins with `$`: only the broker writes it.
    let isReserved: Bool
    /// Without a value: the number of its last entry in the history, shortened.
    var lastEntry: UInt32 = 0

    /// The revision of the last write; 0 while there is no value.
    var revision: UInt64 = 0
    var cause: UInt64 = 0
    private(set) var writer: AuthorReference?
    private var storage: UnsafeMutableRawPointer?
    private var valueCount = 0
    private var valueCapacity = 0

    /// The subscriptions that name this key exactly.
    var exactObservers = List<SubscriptionReference>()
    /// All that match, patterns included; true as of `observersGeneration`.
    var observers = List<SubscriptionReference>()
    var observersGeneration: UInt64 = 0
    /// One of them acknowledges: they are told in phases.
    var hasAcknowledgers = false
    /// Subscriptions that are owed this key: they may have to be told that it is gone.
    var owedBy: Int32 = 0
    /// What deletes it by itself, and why the last write was made, where there is any of it.
    var marks = LifetimeMarks()

    /// The next keys in order, a level each; kept by `KeyOrder`.
    var tower: UnsafeMutablePointer<ObservableReference?>?
    var height: Int32 = 0
    /// Without a value: the last generation of the history that points here, 0 for none.
    var generation: UInt32 = 0

    init(key: UnsafeRawBufferPointer, hash: UInt64) {
        var buffer = ByteBuffer()
        EventEncoder.appendKeyPrefix(key, to: &buffer)
        prefix = .allocate(byteCount: buffer.count, alignment: 1)
        prefix.copyMemory(from: buffer.bytes)
        self.hash = hash
        keyCount = key.count
        isReserved = Key.isReserved(key)
    }

    deinit {
        prefix.deallocate()
        storage?.deallocate()
        tower?.deallocate()
        if let writer { Author.release(writer) }
    }

    /// `,"key":"…","revision":`.
    @inline(__always) var keyPrefix: UnsafeRawBufferPointer { UnsafeRawBufferPointer(prefix) }

    @inline(__always) var key: UnsafeRawBufferPointer {
        let start = UnsafeRawPointer(prefix.baseAddress.unsafelyUnwrapped) + Self.keyOffset
        return UnsafeRawBufferPointer(start: start, count: keyCount)
    }

    @inline(__always) var hasValue: Bool { revision != 0 }
    @inline(__always) var isNeeded: Bool { hasValue || !exactObservers.isEmpty || owedBy > 0 }

    /// The kept JSON; nil while there is none.
    @inline(__always) var value: UnsafeRawBufferPointer? {
        hasValue ? UnsafeRawBufferPointer(start: storage, count: valueCount) : nil
    }

    /// Who wrote the value, as events say it.
    @inline(__always) var by: UnsafeRawBufferPointer {
        writer?.pointee.by ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// Reads something of each piece of memory that a write needs, for the reading's sake.
    @inline(__always)
    func touch() -> UInt64 {
        let start = prefix.baseAddress.unsafelyUnwrapped
        let ends = start.load(as: UInt8.self) &+ start.load(fromByteOffset: prefix.count &- 1, as: UInt8.self)
        return hash &+ revision &+ observersGeneration &+ UInt64(ends)
    }

    /// Whether the connection of who wrote the value still lives.
    var isLive: Bool { writer?.pointee.isLive ?? false }

    @inline(__always)
    mutating func set(
        _ value: UnsafeRawBufferPointer,
        revision: UInt64,
        cause: UInt64,
        writer: AuthorReference
    ) {
        if value.count > valueCapacity || (valueCapacity > 1024 && value.count < valueCapacity / 4) {
            resize(to: value.count)
        }
        if let storage, let source = value.baseAddress {
            storage.copyMemory(from: source, byteCount: value.count)
        }
        valueCount = value.count
        self.revision = revision
        self.cause = cause
        if self.writer != writer { replaceWriter(writer) }
    }

    /// Who deleted it and why is kept while that is still owed to somebody.
    mutating func removeValue(cause: UInt64, writer: AuthorReference) {
        storage?.deallocate()
        storage = nil
        valueCount = 0
        valueCapacity = 0
        revision = 0
        self.cause = cause
        replaceWriter(owedBy > 0 ? writer : nil)
    }

    private mutating func resize(to count: Int) {
        storage?.deallocate()
        // Room for the next value to be a little longer, as counters and prices are.
        valueCapacity = (count + 23) & ~15
        storage = .allocate(byteCount: valueCapacity, alignment: 16)
    }

    private mutating func replaceWriter(_ author: AuthorReference?) {
        if let author { Author.retain(author) }
        if let writer { Author.release(writer) }
        writer = author
    }
}
