import PlugboardMemory
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

/// The broker's own data structures, compared with the simplest ones that do the same.
@Suite("Tables, order and tree against a model", .computing)
struct ModelTests {
    private func withKey<Result>(_ key: String, _ body: (Span<UInt8>) -> Result) -> Result {
        body(Array(key.utf8).span)
    }

    @Test("the table finds what was inserted and not removed, and keeps it in order")
    func table() {
        var table = Keyspace(time: .system)
        var model: Set<String> = []
        for _ in 0..<20_000 {
            let key = "k.\(Int.random(in: 0..<3_000))"
            let found = withKey(key) { table.find($0, hash: table.hash($0)) }
            #expect((found != nil) == model.contains(key))
            if let found, Bool.random() {
                table.remove(found)
                model.remove(key)
            } else if found == nil {
                _ = withKey(key) { table.insert($0, hash: table.hash($0)) }
                model.insert(key)
            }
        }
        let count = table.observableCount
        #expect(count == model.count)
        var inOrder: [String] = []
        var next = withKey("") { table.first(from: $0) }
        while let observable = next {
            inOrder.append(String(table[observable].key))
            next = table.next(after: observable)
        }
        #expect(inOrder == model.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) })
        for start in ["k.", "k.15", "k.2999", "l"] {
            let first = withKey(start) { table.first(from: $0) }.map { String(table[$0].key) }
            #expect(first == inOrder.first { !Array($0.utf8).lexicographicallyPrecedes(Array(start.utf8)) })
        }
    }

    /// How specific a pattern is, token by token from the left: itself, then `*`, then `**`.
    private func rank(_ pattern: String) -> String {
        pattern.split(separator: ".").map { $0 == "**" ? "0" : $0 == "*" ? "1" : "2" }.joined() + "3"
    }

    @Test(
        "the tree finds exactly the patterns that match, the most specific first, and is empty again at the end"
    )
    func tree() {
        let tree = PatternTree<String>()
        let tokens = ["a", "b", "c", "$x", "*"]
        var patterns: [String: PatternNode<String>] = [:]
        for _ in 0..<400 {
            var parts = (0..<Int.random(in: 1...4)).map { _ in tokens.randomElement() ?? "a" }
            if Bool.random() { parts.append("**") }
            let pattern = parts.joined(separator: ".")
            if patterns[pattern] == nil {
                patterns[pattern] = withKey(pattern) { tree.insert($0) { _ in pattern } }
            }
        }
        while true {
            // So few are tried one by one, and one more is looked up.
            let some = [8, 9].map { patterns.keys.prefix($0) }
            let sets = some.map { PatternSet($0.map { Array($0.utf8) }) }
            for _ in 0..<100 {
                let key = (0..<Int.random(in: 1...5)).map { _ in tokens[Int.random(in: 0..<4)] }
                    .joined(separator: ".")
                var found: [String] = []
                let visits = withKey(key) { key in tree.match(key) { found += $0.entries } }
                #expect(visits <= tree.steps)
                let expected = patterns.keys.filter { pattern in
                    withKey(pattern) { pattern in withKey(key) { Pattern.matches(pattern, $0) } }
                }
                #expect(found.sorted() == expected.sorted())
                for (set, some) in zip(sets, some) {
                    let isMatched = withKey(key) { set.match($0) }
                    #expect(isMatched == expected.contains { some.contains($0) }, "\(some.count)")
                }
                let first = withKey(key) { tree.first(matching: $0) }
                #expect(first == expected.max { rank($0) < rank($1) }, "\(key)")
            }
            guard !patterns.isEmpty else { break }
            for (pattern, node) in patterns.shuffled().prefix(100) {
                _ = tree.remove(at: 0, from: node)
                patterns[pattern] = nil
            }
        }
        #expect(withKey("a.*") { tree.node(of: $0) } == nil)
        #expect(tree.isEmpty && tree.steps == 1)
    }
}

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
            // What isn't there isn't found, and can be removed.
            pair.index.remove(pair.hash(most + 1), most + 1)
            pair.check()
            _ = pair.index.shrink(visits: 100)
            pair.check()
        }
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
