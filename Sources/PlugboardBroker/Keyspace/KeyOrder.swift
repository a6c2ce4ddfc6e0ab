// The observables in the order of their keys' bytes: a skip list (Pugh, 1990) whose links are stored in the
// observables. It changes only when a key comes or goes, not when a value changes. Part of `ObservableTable`,
// which lends it the observables.

import PlugboardMemory
import PlugboardPosix

/// An ordered index over observables that it doesn't own. Each observable holds its own links.
struct KeyOrder: ~Copyable {
    private static let heightMax = 12
    /// The first of each level.
    private var head = List<ObservableHandle>(reserving: Int32(heightMax))
    private var random: UInt64 = 0x2545_F491_4F6C_DD1D

    init() {
        for _ in 0..<Self.heightMax { head.append(.none) }
    }

    /// The first observable whose key isn't less than `key`; `.none` if there is none.
    func first(from key: Span<UInt8>, in all: borrowing Slab<Observable>) -> ObservableHandle {
        var tower = ObservableHandle.none
        for level in stride(from: Self.heightMax - 1, through: 0, by: -1) {
            tower = last(before: key, from: tower, level, in: all)
        }
        return link(tower, 0, in: all)
    }

    mutating func insert(_ observable: ObservableHandle, in all: inout Slab<Observable>) {
        let height = Int(all[observable].height)
        var tower = ObservableHandle.none
        for level in stride(from: Self.heightMax - 1, through: 0, by: -1) {
            tower = last(before: all[observable].key, from: tower, level, in: all)
            guard level < height else { continue }
            all[observable].setLink(level, link(tower, level, in: all).slot)
            setLink(tower, level, observable, in: &all)
        }
    }

    /// Fills the empty index with observables that are already in order.
    mutating func fill(_ observables: some Sequence<ObservableHandle>, in all: inout Slab<Observable>) {
        var ends = Array(repeating: ObservableHandle.none, count: Self.heightMax)
        for observable in observables {
            for level in 0..<Int(all[observable].height) {
                setLink(ends[level], level, observable, in: &all)
                ends[level] = observable
            }
        }
    }

    mutating func remove(_ observable: ObservableHandle, in all: inout Slab<Observable>) {
        let height = Int(all[observable].height)
        var tower = ObservableHandle.none
        for level in stride(from: Self.heightMax - 1, through: 0, by: -1) {
            tower = last(before: all[observable].key, from: tower, level, in: all)
            if level < height { setLink(tower, level, link(observable, level, in: all), in: &all) }
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
        _ tower: ObservableHandle,
        _ level: Int,
        _ next: ObservableHandle,
        in all: inout Slab<Observable>
    ) {
        if tower == .none { head[level] = next } else { all[tower].setLink(level, next.slot) }
    }

    /// The tower from which the next step on `level` would reach or pass `key`.
    private func last(
        before key: Span<UInt8>,
        from start: ObservableHandle,
        _ level: Int,
        in all: borrowing Slab<Observable>
    ) -> ObservableHandle {
        var tower = start
        while true {
            let next = link(tower, level, in: all)
            guard next != .none, Self.precedes(all[next].key, key) else { return tower }
            tower = next
        }
    }

    static func precedes(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        left.order(to: right) < 0
    }

    /// A random height for the next observable: each further level has a chance of one in four (xorshift64).
    mutating func nextHeight() -> Int {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return min(Self.heightMax, 1 + random.trailingZeroBitCount / 2)
    }
}

extension KeyOrder {
    private static var always: Invariants { Invariants(of: "KeyOrder") }

    /// Each observable is in the order once, at its place, on as many levels as it is high.
    func checkInvariants(_ all: borrowing Slab<Observable>) throws(BrokenInvariant) {
        var heights = Array(repeating: 0, count: Self.heightMax)
        all.forEach { observable in
            for level in 0..<min(Self.heightMax, Int(all[observable].height)) { heights[level] += 1 }
        }
        for level in 0..<Self.heightMax { try levelAscends(level, all, count: heights[level]) }
    }

    private func levelAscends(
        _ level: Int,
        _ all: borrowing Slab<Observable>,
        count: Int
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
