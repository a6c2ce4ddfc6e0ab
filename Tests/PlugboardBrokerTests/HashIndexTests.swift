// The index beside a plain dictionary, over many random changes.

import PlugboardMemory
import TestSupport
import Testing

@Suite("an index by hash", .computing)
struct HashIndexTests {
    /// An index and what should be in it. `spread` is how many different hashes there are.
    private struct Pair: ~Copyable {
        var index = HashIndex()
        var model: [UInt32: UInt64] = [:]
        let spread: UInt64

        init(spread: UInt64) { self.spread = spread }

        func hash(_ slot: UInt32) -> UInt64 { (UInt64(slot) &* 0x9E37_79B9_7F4A_7C15 >> 20) % spread }

        mutating func insert(_ slot: UInt32, atOnce: Bool = false) {
            index.insert(hash(slot), slot, atOnce: atOnce)
            model[slot] = hash(slot)
        }

        mutating func remove(_ slot: UInt32) {
            index.remove(hash(slot), slot)
            model[slot] = nil
        }

        /// All slots that a search for a hash finds.
        func found(_ hash: UInt64) -> [UInt32] {
            var (search, found) = (index.search(hash), [UInt32]())
            while let slot = index.next(&search) { found.append(slot) }
            return found
        }

        func check() {
            let (isSound, count) = (index.isSound, index.count)
            #expect(isSound)
            #expect(count == model.count)
            var listed: [UInt32: UInt32] = [:]
            index.forEach { slot, hash in listed[slot] = hash }
            #expect(listed == model.mapValues { UInt32(truncatingIfNeeded: $0) })
            for (slot, hash) in model {
                let isFound = found(hash).count { $0 == slot } == 1
                #expect(isFound)
            }
        }
    }

    @Test(
        "each slot is found once while the table grows, shrinks and is moved", arguments: [7, 500, 1 << 60])
    func model(spread: UInt64) {
        var pair = Pair(spread: spread)
        var numbers = SystemRandomNumberGenerator()
        let most: UInt32 = spread < 100 ? 300 : 3_000
        for round in 0..<12 {
            for slot in 1...most where pair.model[slot] == nil && !Bool.random(using: &numbers) {
                pair.insert(slot, atOnce: round == 3)
            }
            pair.check()
            for slot in pair.model.keys where round % 4 == 3 || Bool.random(using: &numbers) {
                pair.remove(slot)
            }
            pair.check()
            _ = pair.index.shrink(visits: 100)
            pair.check()
        }
    }

    @Test("what isn't there isn't found, and can be removed")
    func absent() {
        var pair = Pair(spread: 1 << 60)
        for slot in 1...200 as ClosedRange<UInt32> { pair.insert(slot) }
        pair.index.remove(pair.hash(5_000), 5_000)
        pair.check()
        let isFound = !pair.found(pair.hash(5_000)).isEmpty
        #expect(!isFound)
    }

    @Test("a candidate is the first slot with the hash, unless that is still to be moved")
    func candidate() {
        var pair = Pair(spread: 1 << 60)
        for slot in 1...48 as ClosedRange<UInt32> { pair.insert(slot) }
        for slot in 1...48 as ClosedRange<UInt32> {
            let candidate = pair.index.candidate(pair.hash(slot))
            #expect(candidate == slot)
        }
        pair.insert(49)
        var still = 0
        for slot in 1...48 as ClosedRange<UInt32> where pair.index.candidate(pair.hash(slot)) == nil {
            still += 1
        }
        #expect(still > 0 && still < 48)
        pair.check()
    }

    @Test("an emptied table gives its memory back in pieces")
    func shrinks() {
        var pair = Pair(spread: 1 << 60)
        for slot in 1...20_000 as ClosedRange<UInt32> { pair.insert(slot) }
        for slot in 11...20_000 as ClosedRange<UInt32> { pair.remove(slot) }
        var calls = 1
        while !pair.index.shrink(visits: 512) { calls += 1 }
        #expect(calls > 20)
        pair.check()
    }
}
