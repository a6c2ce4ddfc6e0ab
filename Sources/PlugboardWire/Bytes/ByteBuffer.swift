// Growable bytes with one owner: what inboxes, outboxes and encoders are made of.
// Storage comes with the first byte and can be given back while the buffer lives,
// so that an idle connection holds none. Taken from the front, added at the back. Its
// offsets stay below its capacity, so adding to them is not checked for overflow.

/// A queue of bytes in one piece of memory. Not shared between threads.
public struct ByteBuffer: ~Copyable {
    @usableFromInline var storage: UnsafeMutableRawPointer?
    @usableFromInline var capacity = 0
    @usableFromInline var start = 0
    @usableFromInline var end = 0

    /// Holds nothing and owns no memory yet.
    @inlinable
    public init() {}

    deinit {
        storage?.deallocate()
    }

    /// Bytes waiting.
    @inlinable public var count: Int { end &- start }
    @inlinable public var isEmpty: Bool { end == start }
    /// Bytes of memory owned.
    @inlinable public var allocatedBytes: Int { capacity }

    /// The waiting bytes; valid until the next change.
    @inlinable
    public var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: storage.map { UnsafeRawPointer($0 + start) }, count: end - start)
    }

    /// The same, for decoding in place.
    @inlinable
    public mutating func mutableBytes() -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: storage.map { $0 + start }, count: end - start)
    }

    /// Forgets the bytes and keeps the memory.
    @inlinable
    public mutating func removeAll() {
        start = 0
        end = 0
    }

    /// Forgets the bytes from `count` on.
    @inlinable
    public mutating func truncate(to count: Int) {
        if count < self.count { end = start + max(0, count) }
    }

    /// Takes `count` bytes from the front.
    @inlinable
    public mutating func removeFirst(_ count: Int) {
        start = min(start + count, end)
        if start == end { removeAll() }
    }

    /// Forgets the bytes and gives the memory back.
    public mutating func releaseMemory() {
        storage?.deallocate()
        storage = nil
        capacity = 0
        removeAll()
    }

    /// Memory without its bytes, on its way between a buffer and a pool.
    public struct Storage: BitwiseCopyable {
        /// Where it begins.
        public let address: UnsafeMutableRawPointer
        /// Bytes of memory.
        public let capacity: Int

        /// New memory.
        public init(capacity: Int) {
            self.init(address: .allocate(byteCount: capacity, alignment: 16), capacity: capacity)
        }

        fileprivate init(address: UnsafeMutableRawPointer, capacity: Int) {
            self.address = address
            self.capacity = capacity
        }
    }

    /// Whether so many bytes can be added in the memory that it has.
    public func hasRoom(for count: Int) -> Bool {
        capacity - end >= count || start >= self.count && capacity - self.count >= count
    }

    /// Goes on in other memory, which has room for what is waiting. Returns what it had.
    public mutating func moveBytes(to other: Storage) -> Storage? {
        let former = storage.map { Storage(address: $0, capacity: capacity) }
        let waiting = count
        if waiting > 0 {
            UnsafeMutableRawBufferPointer(start: other.address, count: waiting).copyMemory(from: bytes)
        }
        storage = other.address
        capacity = other.capacity
        start = 0
        end = waiting
        return former
    }

    /// Takes the memory out of an empty buffer, for the pool to keep.
    public mutating func takeStorage() -> Storage? {
        guard isEmpty, let storage else { return nil }
        let taken = Storage(address: storage, capacity: capacity)
        self.storage = nil
        capacity = 0
        removeAll()
        return taken
    }

    /// Gives memory to a buffer that has none.
    public mutating func giveStorage(_ given: Storage) {
        guard storage == nil else { return given.address.deallocate() }
        storage = given.address
        capacity = given.capacity
    }

    /// Frees memory that no buffer is to have again.
    public static func free(_ storage: Storage) {
        storage.address.deallocate()
    }

    /// Makes room for `count` more bytes and returns where they go; `commit` follows.
    @inlinable
    @inline(__always)
    public mutating func reserve(_ count: Int) -> UnsafeMutableRawPointer {
        if let storage, capacity &- end >= count { return storage + end }
        return grow(by: count)
    }

    /// Says how many of the reserved bytes were written.
    @inlinable
    @inline(__always)
    public mutating func commit(_ count: Int) {
        end &+= count
    }

    /// Adds bytes at the back.
    @inlinable
    @inline(__always)
    public mutating func append(_ source: UnsafeRawBufferPointer) {
        guard let base = source.baseAddress else { return }
        reserve(source.count).copyMemory(from: base, byteCount: source.count)
        end &+= source.count
    }

    /// Adds the bytes of a literal.
    @inlinable
    @inline(__always)
    public mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Adds one byte.
    @inlinable
    @inline(__always)
    public mutating func append(byte: UInt8) {
        reserve(1).storeBytes(of: byte, as: UInt8.self)
        end &+= 1
    }

    /// Adds the UTF-8 of a string; for what is off the path of each message.
    public mutating func append(string text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    /// Doubles, or moves the waiting bytes to the front where that makes the room.
    @usableFromInline
    mutating func grow(by count: Int) -> UnsafeMutableRawPointer {
        let waiting = self.count
        if let storage, start >= waiting, capacity - waiting >= count {
            storage.copyMemory(from: storage + start, byteCount: waiting)
            start = 0
            end = waiting
            return storage + end
        }
        let wanted = max(waiting + count, capacity * 2, 64)
        let fresh = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
        if let storage {
            fresh.copyMemory(from: storage + start, byteCount: waiting)
            storage.deallocate()
        }
        storage = fresh
        capacity = wanted
        start = 0
        end = waiting
        return fresh + end
    }
}
