// Keeps elements that are named by handles instead of addresses. A slot that is freed and used again gets
// a new generation, so the slab detects the handle of a removed element.
//
// Why the raw memory is safe: a slot has an element exactly while its generation is odd. A slab's handles have
// odd generations, and it follows one only if its slot was used and has its generation. Slots that were given
// back come again with later generations. An address is used during one access only, and growing or shrinking
// is a mutation, which Swift keeps apart from that. The slab can't be copied, so its memory has one owner.
// A block whose slots are all free may be lent, to be given back: whatever it has afterwards is checked to be no
// odd generation, and nothing else is read there before it is written again.
// Moving elements copies their bytes, so none may have a weak reference: a tidy test looks for them.
// What runs at each access is transparent, so that debug builds inline it, too: a call of generic code asks the
// runtime for the types each time.

import CPlatform

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Names an element of a slab by its slot and the slot's generation. Use it only with the slab that made
/// it.
@frozen
public struct Handle<Element: ~Copyable>: Hashable, Sendable, BitwiseCopyable {
    /// The handle as a number, to store among bytes: the generation, then the slot.
    public let word: UInt64

    /// A handle from its `word`. The word must come from a real handle: the slab doesn't check that its
    /// generation is odd.
    @_transparent
    public init(word: UInt64) {
        self.word = word
    }

    @_transparent
    @usableFromInline
    init(slot: UInt32, generation: UInt32) {
        word = UInt64(generation) << 32 | UInt64(slot)
    }

    /// A handle that no slab accepts.
    @_transparent
    public static var none: Handle { Handle(word: 0) }

    /// The element's place in the slab. No two elements have the same slot at the same time.
    @_transparent
    public var slot: UInt32 { UInt32(truncatingIfNeeded: word) }

    /// Odd in every handle that a slab made.
    @_transparent @usableFromInline var generation: UInt32 { UInt32(truncatingIfNeeded: word &>> 32) }
}

/// Elements in one piece of memory, which may move when it grows. Only one thread uses it.
@safe
public struct Slab<Element: ~Copyable>: ~Copyable {
    /// The bytes before the element in its cell: the generation (4 bytes) and, in a free cell, the next
    /// free slot (4 bytes). In the element's place a free cell has the free slot before it (4 bytes), which
    /// means nothing in the first one.
    @_transparent @usableFromInline static var headerBytes: Int {
        MemoryLayout<Element>.alignment > 8 ? MemoryLayout<Element>.alignment : 8
    }
    @_transparent @usableFromInline static var cellBytes: Int {
        let alignment = MemoryLayout<Element>.alignment > 8 ? MemoryLayout<Element>.alignment : 8
        let size = MemoryLayout<Element>.size > 4 ? MemoryLayout<Element>.size : 4
        return (alignment &+ size &+ alignment &- 1) & ~(alignment &- 1)
    }
    /// The generation of a slot that is never used. It is even, so no handle that a slab made has it. It
    /// isn't 0, so it differs from `Handle.none`.
    private static var noGeneration: UInt32 { 0xFFFF_FFFE }

    /// The address of the first cell.
    @usableFromInline var cells: UnsafeMutableRawPointer
    private var capacity: UInt32 = 0
    /// The number of slots that were ever used. Slot 0 stays empty, so no handle's word is 0.
    @usableFromInline var used: UInt32 = 0
    /// The first free slot; 0 if there is none.
    private var freeSlot: UInt32 = 0
    public private(set) var count = 0
    /// No slot that was given back had a later generation.
    private var laterGeneration: UInt32 = 0
    /// For each block of slots, 1 if it was given back: none of its slots is in the list of free ones.
    private var isGivenBack = List<UInt8>()
    private var givenBackCount: UInt32 = 0
    /// The block that is looked at next. The first one has slot 0 and is never given back.
    private var nextBlock: UInt32 = 1
    private let inPlace = InPlace()

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

    /// Whether `handle` names an element that is still there.
    @_transparent
    public func contains(_ handle: Handle<Element>) -> Bool {
        handle.slot < used && generation(of: handle.slot) == handle.generation
    }

    /// The handle of the element in a slot; nil if there is none.
    @inlinable
    @inline(__always)
    public func handle(inSlot slot: UInt32) -> Handle<Element>? {
        guard slot < used else { return nil }
        let generation = generation(of: slot)
        return generation & 1 == 1 ? Handle(slot: slot, generation: generation) : nil
    }

    /// Asks for the memory of a slot that will be read soon, without waiting for it.
    @inlinable
    @inline(__always)
    public func prefetch(slot: UInt32) {
        guard slot < used else { return }
        unsafe plugboard_prefetch(cell(slot), Slab.cellBytes)
    }

    /// Calls `body` with the handle of each element.
    @inlinable
    public func forEach<Failure: Error>(_ body: (Handle<Element>) throws(Failure) -> Void) throws(Failure) {
        for slot in 1..<max(1, used) where generation(of: slot) & 1 == 1 {
            try body(Handle(slot: slot, generation: generation(of: slot)))
        }
    }

    /// Adds an element and returns its handle.
    @inlinable
    public mutating func insert(_ element: consuming Element) -> Handle<Element> {
        let handle = takeSlot()
        unsafe self.element(in: handle.slot).initialize(to: element)
        return handle
    }

    /// Removes and returns an element. Its handle is stale from then on. Stops the program if the handle
    /// is stale already.
    public mutating func remove(_ handle: Handle<Element>) -> Element {
        let address = unsafe address(of: handle)
        // An even generation means free. A slot that has used all its generations stays free for ever.
        let generation = handle.generation &+ 1
        unsafe cell(handle.slot)
            .storeBytes(of: generation == 0 ? Slab.noGeneration : generation, as: UInt32.self)
        let element = unsafe address.move()
        count -= 1
        if generation != 0 { link(handle.slot) }
        return element
    }

    /// Gives back the memory of free slots behind the last element, and of blocks of free slots by `giveBack`, if
    /// most of the slots are free. Looks at about `visits` of them; returns whether there is nothing more to do.
    /// All handles stay what they are.
    public mutating func shrink(
        visits: Int, _ giveBack: (inout MutableSpan<UInt8>) -> Void = { _ in }
    ) -> Bool {
        // A search for blocks goes on to its end.
        let isHollow = nextBlock > 1 || count < (used - givenBackCount * Slab.blockSlots) / 4
        guard capacity > Slab.keptSlots, isHollow else { return true }
        var left = visits
        while left > 0, dropLast() { left -= 1 }
        let wanted = max(Slab.keptSlots, used)
        if wanted < capacity {
            capacity = wanted
            unsafe cells = Slab.grown(cells, to: Int(capacity) * Slab.cellBytes)
        }
        while left > 0, nextBlock < used / Slab.blockSlots {
            left -= giveBackBlock(nextBlock, giveBack)
            nextBlock += 1
        }
        if left > 0 { nextBlock = 1 }
        return left > 0
    }

    /// So many slots are given back together: some pages of memory.
    private static var blockSlots: UInt32 { 1_024 }

    private static func slots(ofBlock block: UInt32) -> Range<UInt32> {
        block * blockSlots..<(block + 1) * blockSlots
    }

    /// Gives a block back, if all of its slots are free. Returns how many visits that took.
    private mutating func giveBackBlock(
        _ block: UInt32, _ giveBack: (inout MutableSpan<UInt8>) -> Void
    ) -> Int {
        if block < isGivenBack.count, isGivenBack[Int(block)] == 1 { return 1 }
        let slots = Slab.slots(ofBlock: block)
        for slot in slots {
            let generation = generation(of: slot)
            guard generation & 1 == 0, generation != Slab.noGeneration else {
                return Int(slot - slots.lowerBound) + 1
            }
        }
        for slot in slots {
            unlink(slot)
            laterGeneration = max(laterGeneration, generation(of: slot))
        }
        while isGivenBack.count <= block { isGivenBack.append(0) }
        isGivenBack[Int(block)] = 1
        givenBackCount += 1
        lend(slots, giveBack)
        return slots.count * 3
    }

    /// Lends the memory of free slots.
    private mutating func lend(_ slots: Range<UInt32>, _ body: (inout MutableSpan<UInt8>) -> Void) {
        let count = slots.count * Slab.cellBytes
        let first = unsafe cell(slots.lowerBound).assumingMemoryBound(to: UInt8.self)
        let bytes = unsafe UnsafeMutableBufferPointer(start: first, count: count)
        var span = unsafe MutableSpan(_unsafeElements: bytes)
        body(&span)
        for slot in slots { precondition(generation(of: slot) & 1 == 0, "what is free stays free") }
    }

    /// Takes the slots of a block that was given back as free ones again.
    private mutating func takeBackBlock() {
        guard givenBackCount > 0 else { return }
        for block in isGivenBack.indices where isGivenBack[block] == 1 {
            isGivenBack[block] = 0
            givenBackCount -= 1
            for slot in Slab.slots(ofBlock: UInt32(block)).reversed() {
                unsafe cell(slot).storeBytes(of: laterGeneration, as: UInt32.self)
                link(slot)
            }
            return
        }
    }

    /// Has one slot less, if the last one is free, or a block less, if that was given back.
    private mutating func dropLast() -> Bool {
        let block = used / Slab.blockSlots - min(1, used / Slab.blockSlots)
        if used % Slab.blockSlots == 0, block < isGivenBack.count, isGivenBack[Int(block)] == 1 {
            isGivenBack[Int(block)] = 0
            givenBackCount -= 1
            used -= Slab.blockSlots
            return true
        }
        let last = used - 1
        let generation = generation(of: last)
        guard last > 0, generation & 1 == 0, generation != Slab.noGeneration else { return false }
        unlink(last)
        laterGeneration = max(laterGeneration, generation)
        used = last
        return true
    }

    /// So few slots are kept in any case.
    private static var keptSlots: UInt32 { 1_024 }

    /// A slot becomes the first free one.
    private mutating func link(_ slot: UInt32) {
        if freeSlot != 0 { storeFree(before: freeSlot, slot) }
        unsafe cell(slot).storeBytes(of: freeSlot, toByteOffset: 4, as: UInt32.self)
        freeSlot = slot
    }

    /// A slot is free no longer.
    private mutating func unlink(_ slot: UInt32) {
        let next = unsafe cell(slot).load(fromByteOffset: 4, as: UInt32.self)
        guard slot != freeSlot else { return freeSlot = next }
        let previous = unsafe cell(slot).load(fromByteOffset: Slab.headerBytes, as: UInt32.self)
        unsafe cell(previous).storeBytes(of: next, toByteOffset: 4, as: UInt32.self)
        if next != 0 { storeFree(before: next, previous) }
    }

    private func storeFree(before slot: UInt32, _ previous: UInt32) {
        unsafe cell(slot).storeBytes(of: previous, toByteOffset: Slab.headerBytes, as: UInt32.self)
    }

    /// The element that `handle` names. A stale handle stops the program. If it may be stale, ask
    /// `contains` first.
    @inlinable
    public subscript(handle: Handle<Element>) -> Element {
        @_transparent
        unsafeAddress { unsafe UnsafePointer(address(of: handle)) }
        @_transparent
        mutating unsafeMutableAddress { unsafe address(of: handle) }
    }

    @_transparent
    @usableFromInline
    func address(of handle: Handle<Element>) -> UnsafeMutablePointer<Element> {
        guard contains(handle) else { Slab.refuse() }
        return unsafe element(in: handle.slot)
    }

    /// The generation of a slot. The slot must be below `used`.
    @_transparent
    @usableFromInline
    func generation(of slot: UInt32) -> UInt32 { unsafe cell(slot).load(as: UInt32.self) }

    @_transparent
    @usableFromInline
    func cell(_ slot: UInt32) -> UnsafeMutableRawPointer { unsafe cells + Int(slot) &* Slab.cellBytes }

    @_transparent
    @usableFromInline
    func element(in slot: UInt32) -> UnsafeMutablePointer<Element> {
        unsafe (cell(slot) + Slab.headerBytes).assumingMemoryBound(to: Element.self)
    }

    @usableFromInline
    @inline(never)
    static func refuse() -> Never {
        preconditionFailure("a handle of \(Element.self) is stale")
    }

    /// Makes a free slot that of an element, which has to be initialized at once.
    @usableFromInline
    mutating func takeSlot() -> Handle<Element> {
        if freeSlot == 0 { takeBackBlock() }
        if freeSlot == 0, used == 0 { addSlot(generation: Slab.noGeneration) }
        let slot = freeSlot == 0 ? used : freeSlot
        if slot == used { addSlot(generation: laterGeneration) } else { unlink(slot) }
        let generation = generation(of: slot) | 1
        unsafe cell(slot).storeBytes(of: generation, as: UInt32.self)
        count += 1
        return Handle(slot: slot, generation: generation)
    }

    private mutating func addSlot(generation: UInt32) {
        if used == capacity { grow() }
        unsafe cell(used).storeBytes(of: generation, as: UInt32.self)
        used += 1
    }

    /// At least so much memory, once it is more than `smallBytes`: the system then maps it by itself. A
    /// smaller piece that is outgrown leaves a hole among other memory.
    private static var mappedBytes: Int { 2_097_152 }
    private static var smallBytes: Int { 131_072 }

    /// Doubles the memory. For a large piece, `realloc` moves pages instead of copying bytes, and cells
    /// that were never used take up no pages.
    private mutating func grow() {
        precondition(capacity <= .max / 2, "a slab is full")
        capacity = max(8, capacity * 2)
        if Int(capacity) * Slab.cellBytes > Slab.smallBytes {
            capacity = max(capacity, UInt32(Slab.mappedBytes / Slab.cellBytes) + 1)
        }
        unsafe cells = Slab.grown(cells, to: Int(capacity) * Slab.cellBytes)
    }

    /// Memory of `count` bytes that begins with the contents of `old`. Stops the program if there is no
    /// memory.
    private static func grown(_ old: UnsafeMutableRawPointer?, to count: Int) -> UnsafeMutableRawPointer {
        guard let grown = unsafe realloc(old, max(1, count)) else {
            preconditionFailure("no memory for \(count) bytes")
        }
        return unsafe grown
    }
}
