// Elements that are named by handles instead of addresses. When a slot is freed and used
// again, it gets another generation. So a handle of a removed element is noticed and never
// followed.
//
// Why the raw memory is safe: a slot has an element exactly while its generation is odd, as that
// of each handle is. A handle is followed only if its slot was ever used and has the handle's
// generation. An address is used within one access, and no access lasts while the slab grows: the
// compiler sees to that, as growing changes the slab. The slab can't be copied, and its memory goes
// to nobody else.

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Names an element of a slab by its slot and the slot's generation. Only the slab that
/// made it can follow it.
@frozen
public struct Handle<Element: ~Copyable>: Hashable, Sendable, BitwiseCopyable {
    /// The handle as a number, to be kept among bytes: the generation, then the slot.
    public let word: UInt64

    /// The handle that was kept as a number.
    @inlinable
    public init(word: UInt64) {
        self.word = word
    }

    @inlinable
    init(slot: UInt32, generation: UInt32) {
        word = UInt64(generation) << 32 | UInt64(slot)
    }

    /// Names no element; every slab refuses it.
    @inlinable
    public static var none: Handle { Handle(word: 0) }

    /// Which of the slab's places it is. Two elements that are there have two slots.
    @inlinable
    public var slot: UInt32 { UInt32(truncatingIfNeeded: word) }

    /// Odd in every handle that was ever given out.
    @inlinable var generation: UInt32 { UInt32(truncatingIfNeeded: word &>> 32) }
}

/// Elements in one piece of memory, which moves when it grows. One thread uses it.
@safe
public struct Slab<Element: ~Copyable>: ~Copyable {
    /// A cell begins with its generation and, while it is free, the next free slot; its element follows.
    @usableFromInline static var headerBytes: Int { max(8, MemoryLayout<Element>.alignment) }
    @usableFromInline static var cellBytes: Int {
        let alignment = max(8, MemoryLayout<Element>.alignment)
        return (headerBytes &+ MemoryLayout<Element>.size &+ alignment &- 1) & ~(alignment &- 1)
    }
    /// Even, and not 0: no handle has it.
    private static var noGeneration: UInt32 { 0xFFFF_FFFE }

    /// The first cell; nothing is there before the first slot is used.
    @usableFromInline var cells: UnsafeMutableRawPointer
    private var capacity: UInt32 = 0
    /// The number of slots that were ever used. The first one stays empty, so no handle is 0.
    @usableFromInline var used: UInt32 = 0
    /// The first free slot; 0 if there is none.
    private var freeSlot: UInt32 = 0
    /// The number of elements.
    public private(set) var count = 0

    /// An empty slab.
    public init() {
        precondition(MemoryLayout<Element>.alignment <= 16)
        unsafe cells = Slab.grown(nil, to: 0)
    }

    deinit {
        for slot in 1..<max(1, used) where generation(of: slot) & 1 == 1 {
            unsafe element(in: slot).deinitialize(count: 1)
        }
        unsafe free(cells)
    }

    /// Whether a handle names an element of this slab.
    @inlinable
    public func contains(_ handle: Handle<Element>) -> Bool {
        handle.slot < used && generation(of: handle.slot) == handle.generation
    }

    /// Calls with the handle of each element.
    public func forEach<Failure: Error>(_ body: (Handle<Element>) throws(Failure) -> Void) throws(Failure) {
        for slot in 1..<max(1, used) where generation(of: slot) & 1 == 1 {
            try body(Handle(slot: slot, generation: generation(of: slot)))
        }
    }

    /// Adds an element and returns its handle.
    public mutating func insert(_ element: consuming Element) -> Handle<Element> {
        let slot = takeSlot()
        let generation = generation(of: slot) | 1
        unsafe cell(slot).storeBytes(of: generation, as: UInt32.self)
        unsafe self.element(in: slot).initialize(to: element)
        count += 1
        return Handle(slot: slot, generation: generation)
    }

    /// Removes and returns an element. Its handle is stale from now on.
    public mutating func remove(_ handle: Handle<Element>) -> Element {
        let address = unsafe address(of: handle)
        // An even generation means free. After its last generation, a slot is never used again.
        let generation = handle.generation &+ 1
        unsafe cell(handle.slot)
            .storeBytes(of: generation == 0 ? Slab.noGeneration : generation, as: UInt32.self)
        if generation != 0 {
            unsafe cell(handle.slot).storeBytes(of: freeSlot, toByteOffset: 4, as: UInt32.self)
            freeSlot = handle.slot
        }
        count -= 1
        return unsafe address.move()
    }

    /// The element that a handle names. A stale handle stops the program: if it may be stale, ask
    /// `contains` first.
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
        return unsafe element(in: handle.slot)
    }

    /// Of a slot that was used.
    @inlinable
    @inline(__always)
    func generation(of slot: UInt32) -> UInt32 { unsafe cell(slot).load(as: UInt32.self) }

    @inlinable
    @inline(__always)
    func cell(_ slot: UInt32) -> UnsafeMutableRawPointer { unsafe cells + Int(slot) &* Slab.cellBytes }

    @inlinable
    @inline(__always)
    func element(in slot: UInt32) -> UnsafeMutablePointer<Element> {
        unsafe (cell(slot) + Slab.headerBytes).assumingMemoryBound(to: Element.self)
    }

    @usableFromInline
    @inline(never)
    static func refuse() -> Never {
        preconditionFailure("a handle of \(Element.self) is stale")
    }

    /// A free slot, its generation even.
    private mutating func takeSlot() -> UInt32 {
        if freeSlot != 0 {
            let slot = freeSlot
            freeSlot = unsafe cell(slot).load(fromByteOffset: 4, as: UInt32.self)
            return slot
        }
        if used == 0 { addSlot(generation: Slab.noGeneration) }
        addSlot(generation: 0)
        return used - 1
    }

    private mutating func addSlot(generation: UInt32) {
        if used == capacity { grow() }
        unsafe cell(used).storeBytes(of: generation, as: UInt32.self)
        used += 1
    }

    /// Doubles the memory. The system moves the pages of a large piece without copying them, and
    /// cells that were never used take up none.
    private mutating func grow() {
        precondition(capacity <= .max / 2, "a slab is full")
        capacity = max(8, capacity * 2)
        unsafe cells = Slab.grown(cells, to: Int(capacity) * Slab.cellBytes)
    }

    /// A piece of so many bytes that begins with what the old one had. The program ends where there
    /// is no memory.
    private static func grown(_ old: UnsafeMutableRawPointer?, to count: Int) -> UnsafeMutableRawPointer {
        guard let grown = unsafe realloc(old, max(1, count)) else {
            preconditionFailure("no memory for \(count) bytes")
        }
        return unsafe grown
    }
}
