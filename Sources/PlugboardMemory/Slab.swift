// Elements that are named by handles instead of addresses. When a slot is freed and used
// again, it gets another generation. So a handle of a removed element is noticed and never
// followed.
//
// Why the raw memory is safe: a slot has an element exactly while its generation is odd, a handle
// is followed only if its generation is odd and equals the slot's, chunks never move before the
// slab ends, and the slab can't be copied.

/// Names an element of a slab by its slot and the slot's generation. Only the slab that
/// made it can follow it.
@frozen
public struct Handle<Element: ~Copyable>: Hashable, Sendable, BitwiseCopyable {
    @usableFromInline let slot: UInt32
    /// Odd in every handle that a slab gave out.
    @usableFromInline let generation: UInt32

    @inlinable
    init(slot: UInt32, generation: UInt32) {
        self.slot = slot
        self.generation = generation
    }

    /// Names no element; every slab refuses it.
    @inlinable
    public static var none: Handle { Handle(slot: 0, generation: 0) }
}

/// Elements in chunks of memory that never move. One thread uses it.
@safe
public struct Slab<Element: ~Copyable>: ~Copyable {
    @usableFromInline
    struct Slot: ~Copyable {
        @usableFromInline var generation: UInt32
        /// In a free slot: the next free one.
        @usableFromInline var next: UInt32
    }

    @usableFromInline static var chunkBits: UInt32 { 8 }
    @usableFromInline static var chunkSlots: UInt32 { 1 << chunkBits }
    @usableFromInline static var nowhere: UInt32 { .max }

    @usableFromInline
    @safe
    struct Chunk: BitwiseCopyable {
        @usableFromInline let slots: UnsafeMutablePointer<Slot>
        @usableFromInline let elements: UnsafeMutablePointer<Element>

        @usableFromInline
        init() {
            unsafe slots = .allocate(capacity: Int(Slab.chunkSlots))
            unsafe elements = .allocate(capacity: Int(Slab.chunkSlots))
        }
    }

    @usableFromInline var chunks = List<Chunk>()
    /// The number of slots that were ever used. Later ones were never written.
    @usableFromInline var used: UInt32 = 0
    @usableFromInline var free: UInt32 = Slab.nowhere
    /// The number of elements.
    public private(set) var count = 0

    /// An empty slab without memory.
    public init() {}

    deinit {
        for slot in 0..<used {
            let place = Int(slot & (Slab.chunkSlots &- 1))
            let chunk = chunks[Int(slot >> Slab.chunkBits)]
            if unsafe chunk.slots[place].generation & 1 == 1 {
                unsafe (chunk.elements + place).deinitialize(count: 1)
            }
        }
        for index in chunks.indices {
            unsafe chunks[index].slots.deallocate()
            unsafe chunks[index].elements.deallocate()
        }
    }

    /// Whether a handle names an element of this slab.
    @inlinable
    public func contains(_ handle: Handle<Element>) -> Bool {
        guard handle.slot < used, handle.generation & 1 == 1 else { return false }
        return unsafe chunks[Int(handle.slot >> Slab.chunkBits)]
            .slots[Int(handle.slot & (Slab.chunkSlots &- 1))].generation == handle.generation
    }

    /// Adds an element and returns its handle.
    public mutating func insert(_ element: consuming Element) -> Handle<Element> {
        let slot = takeSlot()
        let place = Int(slot & (Slab.chunkSlots &- 1))
        let chunk = chunks[Int(slot >> Slab.chunkBits)]
        unsafe (chunk.elements + place).initialize(to: element)
        unsafe chunk.slots[place].generation |= 1
        count += 1
        return Handle(slot: slot, generation: unsafe chunk.slots[place].generation)
    }

    /// Removes and returns an element. Its handle is stale from now on.
    public mutating func remove(_ handle: Handle<Element>) -> Element {
        let address = unsafe address(of: handle)
        let place = Int(handle.slot & (Slab.chunkSlots &- 1))
        let chunk = chunks[Int(handle.slot >> Slab.chunkBits)]
        // An even generation means free. After its last generation, a slot is never used again.
        unsafe chunk.slots[place].generation &+= 1
        if unsafe chunk.slots[place].generation != 0 {
            unsafe chunk.slots[place].next = free
            free = handle.slot
        }
        count -= 1
        return unsafe address.move()
    }

    /// The element that a handle names. A stale handle stops the program, so check `contains`
    /// first if it may be stale.
    @inlinable
    public subscript(handle: Handle<Element>) -> Element {
        @inline(__always)
        unsafeAddress { unsafe UnsafePointer(address(of: handle)) }
        @inline(__always)
        mutating unsafeMutableAddress { unsafe address(of: handle) }
    }

    @inlinable
    @inline(__always)
    func address(of handle: Handle<Element>) -> UnsafeMutablePointer<Element> {
        guard contains(handle) else { Slab.refuse() }
        let chunk = chunks[Int(handle.slot >> Slab.chunkBits)]
        return unsafe chunk.elements + Int(handle.slot & (Slab.chunkSlots &- 1))
    }

    @usableFromInline
    @inline(never)
    static func refuse() -> Never {
        preconditionFailure("a handle of \(Element.self) is stale")
    }

    private mutating func takeSlot() -> UInt32 {
        if free != Slab.nowhere {
            let slot = free
            let chunk = chunks[Int(slot >> Slab.chunkBits)]
            free = unsafe chunk.slots[Int(slot & (Slab.chunkSlots &- 1))].next
            return slot
        }
        precondition(used < Slab.nowhere, "a slab is full")
        if used & (Slab.chunkSlots &- 1) == 0 { chunks.append(Chunk()) }
        let slot = used
        let chunk = chunks[Int(slot >> Slab.chunkBits)]
        unsafe (chunk.slots + Int(slot & (Slab.chunkSlots &- 1)))
            .initialize(to: Slot(generation: 0, next: Slab.nowhere))
        used += 1
        return slot
    }
}
