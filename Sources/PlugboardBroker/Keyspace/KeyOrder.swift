// The observables in the order of their keys' bytes: a skip list (Pugh, 1990) whose links are stored in the
// observables. It changes only when a key comes or goes, not when a value changes. Part of the keyspace,
// which lends it the observables.

import PlugboardMemory
import PlugboardWire

struct KeyOrder: ~Copyable {
    /// One for each level.
    private typealias Towers = InlineArray<12, ObservableHandle>
    private static let heightMax = Towers.count
    private var head = List(repeating: ObservableHandle.none, count: heightMax)

    /// The first observable whose key isn't less than `key`; `.none` if there is none.
    func first(from key: Span<UInt8>, in all: borrowing Slab<Observable>) -> ObservableHandle {
        link(towers(before: key, in: all)[0], 0, in: all)
    }

    mutating func insert(_ observable: ObservableHandle, in all: inout Slab<Observable>) {
        let towers = towers(before: all[observable].key, in: all)
        for level in 0..<Int(all[observable].height) {
            all[observable].setLink(level, link(towers[level], level, in: all).slot)
            setLink(towers[level], level, observable, in: &all)
        }
    }

    /// Puts all observables in order at once. Most of them came in order, which takes fewer comparisons.
    mutating func fill(_ all: inout Slab<Observable>) {
        var keys: [OrderedKey] = []
        keys.reserveCapacity(all.count)
        all.forEach { keys.append(OrderedKey($0, all[$0].key)) }
        keys.sort { $0.precedes($1) ?? Self.precedes(all[$0.observable].key, all[$1.observable].key) }
        // The last of each level.
        var last = Towers(repeating: .none)
        for key in keys {
            for level in 0..<Int(all[key.observable].height) {
                setLink(last[level], level, key.observable, in: &all)
                last[level] = key.observable
            }
        }
        for level in last.indices { setLink(last[level], level, .none, in: &all) }
    }

    mutating func remove(_ observable: ObservableHandle, in all: inout Slab<Observable>) {
        let towers = towers(before: all[observable].key, in: all)
        for level in 0..<Int(all[observable].height) {
            setLink(towers[level], level, link(observable, level, in: all), in: &all)
        }
    }

    /// The next observable on a level. The tower `.none` is the head.
    @inline(__always)
    private func link(_ tower: ObservableHandle, _ level: Int, in all: borrowing Slab<Observable>)
        -> ObservableHandle
    {
        tower == .none ? head[level] : all.handle(inSlot: all[tower].link(level)) ?? .none
    }

    private mutating func setLink(
        _ tower: ObservableHandle, _ level: Int, _ next: ObservableHandle, in all: inout Slab<Observable>
    ) {
        if tower == .none { head[level] = next } else { all[tower].setLink(level, next.slot) }
    }

    /// The towers from which the next step on each level would reach or pass `key`.
    private func towers(before key: Span<UInt8>, in all: borrowing Slab<Observable>) -> Towers {
        var towers = Towers(repeating: .none)
        var tower = ObservableHandle.none
        for level in towers.indices.reversed() {
            var next = link(tower, level, in: all)
            while next != .none, Self.precedes(all[next].key, key) {
                (tower, next) = (next, link(next, level, in: all))
            }
            towers[level] = tower
        }
        return towers
    }

    static func precedes(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        left.order(to: right) < 0
    }

    /// The height of a key by its hash, which nobody can choose: each further level has a chance of one in four.
    static func height(of hash: UInt64) -> Int { min(heightMax, 1 + hash.trailingZeroBitCount / 2) }
}

/// A key with its first 16 bytes, which mostly suffice to compare it.
struct OrderedKey {
    private let first: UInt64
    private let second: UInt64
    let observable: ObservableHandle

    init(_ observable: ObservableHandle, _ key: Span<UInt8>) {
        self.observable = observable
        first = Self.word(key, at: 0)
        second = Self.word(key, at: 8)
    }

    /// Nil if both begin alike.
    func precedes(_ other: OrderedKey) -> Bool? {
        if first != other.first { return first < other.first }
        return second == other.second ? nil : second < other.second
    }

    /// Eight bytes as a number with the same order. After the key's end there are zeros, which no key has.
    private static func word(_ key: Span<UInt8>, at offset: Int) -> UInt64 {
        if offset + 8 <= key.count { return key.word(at: offset).byteSwapped }
        var word: UInt64 = 0
        for index in offset..<(offset + 8) {
            word = word << 8 | UInt64(index < key.count ? key[index] : 0)
        }
        return word
    }
}

extension KeyOrder: Checked {
    func checkInvariants(_ all: borrowing Slab<Observable>) throws(BrokenInvariant) {
        var heights = Array(repeating: 0, count: Self.heightMax)
        all.forEach { observable in
            for level in 0..<min(Self.heightMax, Int(all[observable].height)) { heights[level] += 1 }
        }
        for level in 0..<Self.heightMax { try levelAscends(level, all, count: heights[level]) }
    }

    private func levelAscends(
        _ level: Int, _ all: borrowing Slab<Observable>, count: Int
    ) throws(BrokenInvariant) {
        var found = 0
        var last = ObservableHandle.none
        var next = head[level]
        while next != .none {
            try Self.always.hold("what stands in the order is there", all.contains(next))
            if last != .none {
                let ascends = Self.precedes(all[last].key, all[next].key)
                try Self.always.hold("keys ascend", ascends, of: String(all[next].key))
            }
            found += 1
            let slot = all[next].link(level)
            (last, next) = (next, all.handle(inSlot: slot) ?? .none)
            try Self.always.hold("a link leads to an observable", slot == 0 || next != .none)
        }
        try Self.always.agree("each observable stands in the order once", found, count)
    }
}

// Keys that were probably meant instead of a missing one: keys with a small difference in one token, or keys
// below it. The search leaps along the order of keys and never looks at all of them, so a miss costs the same
// on any bus.

struct NearestKeys: ~Copyable, ~Escapable {
    static let namedMax = 3
    /// After so many searches in a turn, misses get no hint.
    static let searchesPerTurn = 16
    /// How many tokens, from the last, are checked for a slip.
    private static let tokensMax = 4
    private static let leapsMax = 24
    /// Longer keys are rarely typed by hand.
    private static let keyBytesMax = 96
    /// How many bytes may differ between the common start and the common end of two tokens.
    private static let differenceMax = 3

    private let key: Span<UInt8>
    private let grant: Grant?
    private var found: [(key: String, difference: Int)] = []
    private var probe = ByteBuffer()

    /// A hint that names existing keys similar to `key`; nil if there are none.
    static func hint(for key: Span<UInt8>, in table: borrowing Keyspace, to grant: Grant?) -> String? {
        guard key.count <= keyBytesMax else { return nil }
        var search = NearestKeys(key, grant)
        search.lookForSlips(table)
        let meant = search.names
        if !meant.isEmpty { return "did you mean \(Suggestion.listed(meant, "or"))?" }
        search.lookBelow(table)
        let below = search.names
        return below.isEmpty ? nil : "below it there is \(Suggestion.listed(below, "and"))"
    }

    @_lifetime(copy key)
    private init(_ key: Span<UInt8>, _ grant: Grant?) {
        self.key = key
        self.grant = grant
    }

    private var names: [String] {
        let least = found.map(\.difference).min()
        return found.filter { $0.difference == least }.prefix(Self.namedMax).map { "\"\($0.key)\"" }
    }

    /// Notes keys that differ from the wanted one in a single token.
    private mutating func lookForSlips(_ table: borrowing Keyspace) {
        var end = key.count
        for _ in 0..<Self.tokensMax {
            var start = end
            while start > 0, key[start - 1] != Self.dot { start -= 1 }
            // Most slips leave the first letter alone. If there are few neighbours, other slips are found, too.
            for from in [start + 1, start] where from <= end {
                lookAround(ByteRange(start, end), from: from, table)
            }
            if start == 0 { return }
            end = start - 1
        }
    }

    /// Visits the neighbours of a token, starting at the first `from` bytes of the key.
    private mutating func lookAround(_ token: ByteRange, from: Int, _ table: borrowing Keyspace) {
        let wanted = token.bytes(of: key)
        probe.removeAll()
        probe.append(key[..<from])
        for _ in 0..<Self.leapsMax {
            guard let observable = table.first(from: probe.bytes) else { return }
            let neighbour = table[observable].key
            guard neighbour.count > token.start,
                neighbour[..<token.start].isEqual(to: key[..<token.start])
            else { return }
            let end = neighbour.firstIndex(of: Self.dot, from: token.start) ?? neighbour.count
            let other = neighbour[token.start..<end]
            let difference = Self.difference(wanted, other)
            let longer = max(wanted.count, other.count)
            let allowed = max(1, min(Self.differenceMax, longer / 2))
            if difference > 0, difference <= allowed, difference < longer {
                add(other, for: token, difference, table)
            }
            probe.removeAll()
            probe.append(neighbour[..<end])
            // Past everything below this token.
            probe.append(byte: Self.dot + 1)
        }
    }

    private mutating func add(
        _ other: Span<UInt8>, for token: ByteRange, _ difference: Int, _ table: borrowing Keyspace
    ) {
        probe.removeAll()
        probe.append(key[..<token.start])
        probe.append(other)
        probe.append(key[token.end...])
        let observable = table.find(probe.bytes, hash: table.hash(probe.bytes))
        if let observable, table[observable].hasValue { add(table[observable].key, difference) }
    }

    private mutating func lookBelow(_ table: borrowing Keyspace) {
        probe.removeAll()
        probe.append(key)
        probe.append(byte: Self.dot)
        var next = table.first(from: probe.bytes)
        for _ in 0..<Self.leapsMax {
            guard let observable = next, table[observable].key.starts(with: probe.bytes) else { return }
            if table[observable].hasValue { add(table[observable].key, 0) }
            next = table.next(after: observable)
        }
    }

    private mutating func add(_ key: Span<UInt8>, _ difference: Int) {
        guard grant?.permit(.subscribe, key) ?? true else { return }
        let name = String(key)
        if !found.contains(where: { $0.key == name }) { found.append((name, difference)) }
    }

    /// The length of the longer token without the common start and end: 1 for a letter changed, added or
    /// lost, 2 for two that were swapped.
    private static func difference(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int {
        let shorter = min(left.count, right.count)
        var start = 0
        while start < shorter, left[start] == right[start] { start += 1 }
        var end = 0
        while end < shorter - start, left[left.count - 1 - end] == right[right.count - 1 - end] { end += 1 }
        return max(left.count, right.count) - start - end
    }

    private static let dot = UInt8(ascii: ".")
}
