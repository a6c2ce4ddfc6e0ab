import PlugboardWire
import TestSupport
import PlugboardMemory
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

    @Test("the tree finds exactly the patterns that match, and is empty again at the end")
    func tree() {
        let tree = PatternTree<SubscriptionHandle>()
        let tokens = ["a", "b", "c", "$x", "*"]
        var patterns: [(String, SubscriptionHandle, PatternNode<SubscriptionHandle>)] = []
        var places: [SubscriptionHandle: Int] = [:]
        for index in 0..<400 {
            var parts = (0..<Int.random(in: 1...4)).map { _ in tokens.randomElement() ?? "a" }
            if Bool.random() { parts.append("**") }
            let pattern = parts.joined(separator: ".")
            guard pattern.contains("*") else { continue }
            let reference = SubscriptionHandle(word: UInt64(index))
            let (node, place) = withKey(pattern) { tree.insert($0, reference) }
            patterns.append((pattern, reference, node))
            places[reference] = place
        }
        for _ in 0..<300 {
            let key = (0..<Int.random(in: 1...5)).map { _ in tokens[Int.random(in: 0..<4)] }.joined(
                separator: "."
            )
            var found: [SubscriptionHandle] = []
            let visits = withKey(key) { key in tree.match(key) { found += $0.entries } }
            #expect(visits <= tree.steps)
            let expected = patterns.filter { entry in
                withKey(entry.0) { pattern in withKey(key) { Pattern.matches(pattern, $0) } }
            }
            let elements = Set(found)
            #expect(elements == Set(expected.map(\.1)))
            let count = found.count
            #expect(count == expected.count)
        }
        for (_, reference, node) in patterns.shuffled() {
            let place = places[reference] ?? -1
            if let moved = tree.remove(at: place, from: node) { places[moved] = place }
        }
        var found: [SubscriptionHandle] = []
        withKey("a.b") { key in _ = tree.match(key) { found += $0.entries } }
        let left = found.count
        #expect(left == 0)
        #expect(tree.isEmpty && tree.steps == 1)
    }

    @Test("a list removes by putting the last in the gap")
    func list() {
        var list = List<Int>()
        for number in 0..<10 { list.append(number) }
        list.removeSwapping(at: 3)
        list.removeSwapping(at: 8)
        let elements = list.all
        #expect(elements == [0, 1, 2, 9, 4, 5, 6, 7])
        list.truncate(to: 2)
        let (last, count) = (list.popLast(), list.count)
        #expect(last == 1)
        #expect(count == 1)
        list.releaseMemory()
        let nothing = list.popLast()
        #expect(nothing == nil)
    }
}
