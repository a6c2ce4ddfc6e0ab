// Keys and patterns: the grammar, what matches what, and how two patterns compare.

import PlugboardMemory
import PlugboardWire

@testable import PlugboardBroker

enum PatternFuzz {
    /// One per line: a key, and any number of patterns.
    static func run(_ bytes: [UInt8]) {
        let lines = bytes.lines
        for line in lines {
            // Every key is a pattern as well.
            if Key.fault(line.span) == nil {
                hold(Pattern.fault(line.span) == nil, "a key that is no pattern")
            }
        }
        guard let key = lines.first, Key.fault(key.span) == nil else { return }
        let patterns = lines.dropFirst().filter { Pattern.fault($0.span) == nil }
        for pattern in patterns { check(pattern.span, key.span) }
        for one in patterns.prefix(4) {
            for other in patterns.prefix(4) { check(one.span, other.span, key.span) }
        }
        checkTree(patterns, key)
    }

    private static func check(_ pattern: Span<UInt8>, _ key: Span<UInt8>) {
        let isMatch = Pattern.matches(pattern, key)
        hold(isMatch == matches(tokens(Array(pattern)), tokens(Array(key))), "matching")
        hold(Pattern.covers(pattern, pattern) && Pattern.overlaps(pattern, pattern), "a pattern and itself")
        hold(Pattern.covers(pattern, key) == isMatch, "covering a key is matching it")
        hold(Pattern.overlaps(pattern, key) == isMatch, "overlapping a key is matching it")
        let prefix = Pattern.literalPrefix(pattern)
        if isMatch { hold(key.starts(with: prefix), "a match without the pattern's beginning") }
    }

    private static func check(_ one: Span<UInt8>, _ other: Span<UInt8>, _ key: Span<UInt8>) {
        let (left, right) = (Pattern.matches(one, key), Pattern.matches(other, key))
        if Pattern.covers(one, other) {
            hold(!right || left, "covered, and not matched")
            hold(Pattern.overlaps(one, other), "covered, and no overlap")
        }
        if left, right { hold(Pattern.overlaps(one, other), "both match, and no overlap") }
        hold(Pattern.overlaps(one, other) == Pattern.overlaps(other, one), "overlap on one side")
    }

    private static func checkTree(_ patterns: [[UInt8]], _ key: [UInt8]) {
        let tree = PatternTree<SubscriptionHandle>()
        let wild = patterns.filter { Pattern.hasWildcard($0.span) }.prefix(16)
        var places: [(SubscriptionHandle, PatternNode<SubscriptionHandle>, Int)] = []
        for (index, pattern) in wild.enumerated() {
            let reference = SubscriptionHandle(word: UInt64(index))
            let node = tree.insert(pattern.span) { _ in reference }
            places.append((reference, node, node.entries.count - 1))
        }
        var found: [SubscriptionHandle] = []
        tree.match(key.span) { found += $0.entries }
        let expected = wild.filter { Pattern.matches($0.span, key.span) }.count
        hold(found.count == expected, "the tree finds \(found.count) of \(expected)")
        // In the other order the result is the same.
        for (_, node, place) in places.reversed() { _ = tree.remove(at: place, from: node) }
        found.removeAll()
        tree.match(key.span) { found += $0.entries }
        hold(found.isEmpty, "an empty tree finds something")
    }

    private static func tokens(_ text: [UInt8]) -> ArraySlice<[UInt8]> {
        text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)[...]
    }

    private static func matches(_ pattern: ArraySlice<[UInt8]>, _ key: ArraySlice<[UInt8]>) -> Bool {
        guard let wanted = pattern.first else { return key.isEmpty }
        if wanted == Array("**".utf8) { return key.allSatisfy { $0.first != UInt8(ascii: "$") } }
        guard let token = key.first else { return false }
        let isFitting = wanted == Array("*".utf8) ? token.first != UInt8(ascii: "$") : wanted == token
        return isFitting && matches(pattern.dropFirst(), key.dropFirst())
    }
}
