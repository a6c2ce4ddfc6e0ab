// Handles may live longer than their elements. Then they are refused, whatever kind they are, and
// whatever is in the same slot by then.

import PlugboardMemory
import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("handles", .someAtATime)
struct HandleTests {
    @Test(
        "a slab that gives memory back refuses old handles, in the same places, too",
        arguments: [1, 100, 10_000]
    )
    func shrinking(visits: Int) {
        var slab = Slab<UInt32>()
        let handles = (0..<5_000 as Range<UInt32>).map { slab.insert($0) }
        let isFull = slab.shrink(visits: visits)
        #expect(isFull, "most slots have elements")
        var generator = SeededRandom(seed: UInt64(visits))
        for handle in handles[600...].shuffled(using: &generator) { _ = slab.remove(handle) }
        var pieces = 1
        while !slab.shrink(visits: visits) { pieces += 1 }
        // Until a quarter of the slots that are left have elements.
        #expect(pieces == (visits == 10_000 ? 1 : (5_001 - 2_403 + visits - 1) / visits + 1))
        // Slots below those that have gone are free as before, and the list of them is whole.
        let fresh = (0..<5_000 as Range<UInt32>).map { slab.insert($0 + 10_000) }
        #expect(Set(fresh.map(\.slot)).count == 5_000)
        #expect(slab.count == 5_600)
        for (number, handle) in fresh.enumerated() { #expect(slab[handle] == UInt32(number + 10_000)) }
        for handle in handles[..<600] { #expect(slab[handle] == handle.slot - 1) }
        for handle in handles[600...] {
            let isThere = slab.contains(handle)
            #expect(!isThere)
        }
    }

    /// A slab of which only the first elements and the last are left, with the handles of all that there were,
    /// and how many bytes it has given back.
    private func hollow(_ visits: Int, _ slab: inout Slab<UInt32>) -> (handles: [Handle<UInt32>], bytes: Int)
    {
        let handles = (0..<10_000 as Range<UInt32>).map { slab.insert($0) }
        var generator = SeededRandom(seed: UInt64(visits))
        for handle in handles[100..<9_900].shuffled(using: &generator) { _ = slab.remove(handle) }
        var bytes = 0
        var isDone = false
        while !isDone {
            isDone = slab.shrink(visits: visits) { memory in
                for place in memory.indices { memory[place] = 0 }
                bytes += memory.count
            }
        }
        return (handles, bytes)
    }

    @Test("a slab gives back what lies between elements, and takes it again", arguments: [1, 1_000, 100_000])
    func hollowing(visits: Int) {
        var slab = Slab<UInt32>()
        let (handles, bytes) = hollow(visits, &slab)
        // Eight blocks lie wholly between, each of 1,024 slots of 16 bytes or so.
        #expect(bytes >= 8 * 1_024 * 12)
        var left: [UInt32] = []
        slab.forEach { left.append(slab[$0]) }
        #expect(left == Array(0..<100) + Array(9_900..<10_000))
        let fresh = (0..<12_000 as Range<UInt32>).map { slab.insert($0 + 20_000) }
        #expect(Set(fresh.map(\.slot)).count == 12_000 && slab.count == 12_200)
        for (number, handle) in fresh.enumerated() { #expect(slab[handle] == UInt32(number + 20_000)) }
        for (number, handle) in handles.enumerated() {
            let isThere = slab.contains(handle)
            #expect(isThere == (number < 100 || number >= 9_900))
            if isThere { #expect(slab[handle] == UInt32(number)) }
        }
    }

    @Test("of a slab that has given blocks back the rest goes, too, when the last elements do")
    func hollowEnd() {
        var slab = Slab<UInt32>()
        let (handles, bytes) = hollow(4_096, &slab)
        for handle in handles[50...] where slab.contains(handle) { _ = slab.remove(handle) }
        while !slab.shrink(visits: 4_096, { #expect($0.count < bytes) }) {}
        let fresh = (0..<3_000 as Range<UInt32>).map { slab.insert($0) }
        #expect(Set(fresh.map(\.slot)).count == 3_000 && slab.count == 3_050)
        #expect(fresh.allSatisfy { $0.slot < 4_096 })
    }

    @Test("a slot tells the handle of its element, and of none that isn't there")
    func slots() {
        var slab = Slab<Int>()
        let (first, second) = (slab.insert(1), slab.insert(2))
        for known in [first, second] {
            let handle = slab.handle(inSlot: known.slot)
            #expect(handle == known)
        }
        _ = slab.remove(first)
        for slot in [0, first.slot, second.slot + 1, .max] {
            let handle = slab.handle(inSlot: slot)
            #expect(handle == nil)
        }
        let again = slab.insert(3)
        let found = slab.handle(inSlot: first.slot)
        #expect(found == again && again != first)
    }

    @Test("a handle is the same after it was kept as a number")
    func words() {
        var slab = Slab<Int>()
        let handle = slab.insert(7)
        #expect(slab[Handle(word: handle.word)] == 7)
        #expect(Handle<Int>(word: 0) == .none)
        // Numbers that no slab has given out name nothing, however large they are.
        for word in [1, .max, handle.word + 1, handle.word + (1 << 32)] as [UInt64] {
            let isThere = slab.contains(Handle(word: word))
            #expect(!isThere)
        }
    }

    @Test("elements that are left end with their slab, once")
    func ending() {
        final class Counter { var ended = 0 }
        struct Element: ~Copyable {
            let counter: Counter
            deinit { counter.ended += 1 }
        }
        let counter = Counter()
        do {
            var slab = Slab<Element>()
            let handles = (0..<100).map { _ in slab.insert(Element(counter: counter)) }
            for handle in handles.prefix(40) { _ = slab.remove(handle) }
            #expect(counter.ended == 40)
        }
        #expect(counter.ended == 100)
    }

    @Test("a stale handle stops the program, also if another element is in its slot by then")
    func stale() async {
        await #expect(processExitsWith: .failure) {
            // Without a report of the place, which takes minutes in a large program.
            for number in [SIGILL, SIGTRAP, SIGABRT] { signal(number, SIG_DFL) }
            var slab = Slab<Int>()
            let stale = slab.insert(1)
            _ = slab.remove(stale)
            _ = slab.insert(2)
            _ = slab[stale]
        }
    }
}
